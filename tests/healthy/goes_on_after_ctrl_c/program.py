"""Ctrl-C means: save. The training then goes on for 34 s, longer than any grace."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    bench.script("""
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
""", "start.py")
    bench.script("""
import signal, time
signal.signal(signal.SIGINT, lambda *_: print("saved, going on", flush=True))
open("ready", "w").close()
end = time.monotonic() + 34
while time.monotonic() < end: time.sleep(0.2)
print("trained")
""")
    return bench.around(r'''
python start.py $SL python job.py & job=$!
while [ ! -e ready ]; do sleep 0.1; done
kill -INT $job
wait $job
echo $?
''')
