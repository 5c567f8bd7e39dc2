"""Somebody suspends all ranks for a while, one after the other, before anybody waits."""


def make(bench):
    bench.operator("""
pids = [int(wait_for(f"pid{rank}")) for rank in range(2)]
for pid in pids:
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.7)
time.sleep(12)
for pid in pids: os.kill(pid, signal.SIGCONT)
open("resumed", "w").close()
""")


def command(bench):
    return bench.train("""
note(f"pid{RANK}", os.getpid())
while not os.path.exists("resumed"): work(0.1)
""")
