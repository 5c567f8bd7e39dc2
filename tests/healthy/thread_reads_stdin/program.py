"""A daemon thread waits for a q on stdin for as long as the program works."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    bench.script("""
import sys, threading, time
heard = []
threading.Thread(target=lambda: heard.append(sys.stdin.readline()), daemon=True).start()
end = time.monotonic() + 2
while time.monotonic() < end: sum(range(1000))
print("worked", heard)
open("done", "w").close()
""")
    return bench.around(r'''
(while [ ! -e done ]; do sleep 0.1; done; echo q) | $SL python job.py
echo $?
''')
