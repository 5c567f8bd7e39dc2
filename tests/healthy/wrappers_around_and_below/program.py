"""timeout, env, nice, stdbuf, setsid and a wrapper that captures, before and behind safelaunch."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    bench.script("""
import subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
print("so", done.stdout, end="")
sys.exit(done.returncode)
""", "capture.py")
    return bench.around(r'''
$SL timeout 1 sleep 300; echo $?
timeout 1 $SL sleep 301; echo $?
$SL timeout -k 1 1 sh -c 'trap "" TERM; sleep 302'; echo $?
$SL nice -n 5 stdbuf -oL env WORD=there sh -c 'nice; echo $WORD; exit 3'; echo $?
nice -n 5 stdbuf -oL env WORD=there $SL sh -c 'nice; echo $WORD; exit 3'; echo $?
$SL setsid -w sh -c 'exit 4'; echo $?
$SL python capture.py python -c 'print("captured"); raise SystemExit(6)'; echo $?
''')
