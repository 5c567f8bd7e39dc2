"""A limiter (cpulimit) stops a rank for 95 of 100 milliseconds while the other waits in init."""


def make(bench):
    bench.operator("""
wait_for("waits")
pid = int(wait_for("pid0"))
end = time.monotonic() + 10
while time.monotonic() < end:
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.095)
    os.kill(pid, signal.SIGCONT)
    time.sleep(0.005)
open("resumed", "w").close()
""")


def command(bench):
    return bench.train("""
note(f"pid{RANK}", os.getpid())
import torch
if RANK == 1: note("waits", "")
while RANK == 0 and not os.path.exists("resumed"): work(0.1)
""")
