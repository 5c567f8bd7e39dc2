"""TERM comes (a preemption), and the program saves for 34 s, longer than any grace, and ends with 0."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    bench.script("""
import signal, sys, time
def save(*_):
    time.sleep(34)
    with open("checkpoint", "w") as file: file.write("whole\\n")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
open("ready", "w").close()
time.sleep(100)
""")
    return bench.around(r'''
$SL python job.py & job=$!
while [ ! -e ready ]; do sleep 0.1; done
kill -TERM $job
wait $job
echo $?
cat checkpoint
''')
