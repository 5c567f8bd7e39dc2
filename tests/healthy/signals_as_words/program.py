"""Thirteen signals that mean something to the program; it takes them and goes on."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    bench.script("""
import os, signal, time
NAMES = ("USR1", "USR2", "QUIT", "WINCH", "ALRM", "RTMIN+1", "XCPU", "URG", "IO", "PWR", "CONT", "HUP")
def take(name):
    def note(*_):
        print("took", name, flush=True)
        open("took-" + name, "w").close()
    return note
for name in NAMES:
    number = signal.SIGRTMIN + 1 if name == "RTMIN+1" else getattr(signal, "SIG" + name)
    if signal.getsignal(number) is not signal.SIG_IGN or name == "QUIT": signal.signal(number, take(name))
open("ready", "w").close()
while not os.path.exists("end"): time.sleep(0.02)
print("end")
""")
    return bench.around(r'''
$SL python job.py & job=$!
while [ ! -e ready ]; do sleep 0.05; done
for name in USR1 USR2 QUIT WINCH ALRM RTMIN+1 XCPU URG IO PWR CONT HUP; do
  kill -$name $job
  while [ ! -e took-$name ]; do sleep 0.02; done
done
touch end
wait $job
echo $?
''')
