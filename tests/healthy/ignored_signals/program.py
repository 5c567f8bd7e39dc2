"""INT behind & and HUP behind nohup are ignored at the start; the program takes them all the same, and saves."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    bench.script("""
import signal, sys, time
def save(*_):
    print("saved", flush=True)
    sys.exit(0)
signal.signal(getattr(signal, "SIG" + sys.argv[1]), save)
open("ready", "w").close()
time.sleep(60)
sys.exit("no signal came")
""")
    return bench.around(r'''
$SL python job.py INT & job=$!
while [ ! -e ready ]; do sleep 0.05; done
kill -INT $job
wait $job
echo INT $?
rm ready
nohup $SL python job.py HUP </dev/null >hup 2>/dev/null & job=$!
while [ ! -e ready ]; do sleep 0.05; done
kill -HUP $job
wait $job
echo HUP $?
cat hup
''')
