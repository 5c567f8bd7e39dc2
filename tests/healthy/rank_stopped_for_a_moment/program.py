"""A rank that works is stopped for less than a second, now and then, while the other waits in init."""


def make(bench):
    bench.operator("""
wait_for("waits")
pid = int(wait_for("pid0"))
for _ in range(4):
    time.sleep(1)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.8)
    os.kill(pid, signal.SIGCONT)
open("resumed", "w").close()
""")


def command(bench):
    return bench.train("""
note(f"pid{RANK}", os.getpid())
import torch
if RANK == 1: note("waits", "")
while RANK == 0 and not os.path.exists("resumed"): work(0.1)
""")
