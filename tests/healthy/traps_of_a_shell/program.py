"""A shell script traps TERM, INT, HUP and USR1, says so, goes on, and chooses its own status."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    bench.script("""
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
with open("pid", "w") as file: file.write(str(os.getpid()))
os.execvp(sys.argv[1], sys.argv[1:])
""", "start.py")
    bench.script("""
trap 'echo trapped; touch took' TERM INT HUP USR1
touch ready
until [ -e took ]; do sleep 0.05; done
echo on
exit 9
""", "job.sh")
    return bench.around(r'''
for name in TERM INT HUP USR1; do
  rm -f ready took
  python start.py $SL bash job.sh & job=$!
  while [ ! -e ready ]; do sleep 0.05; done
  kill -$name $(cat pid)
  wait $job
  echo $name $?
done
''')
