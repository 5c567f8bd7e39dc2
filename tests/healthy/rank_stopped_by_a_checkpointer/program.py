"""A checkpointer stops rank 0 for eight seconds while rank 1 waits in init."""

OPTIONS = ["--stopped-timeout", "30s"]


def make(bench):
    bench.operator("""
wait_for("waits1")
pid = int(wait_for("pid0"))
os.kill(pid, signal.SIGSTOP)
time.sleep(8)
os.kill(pid, signal.SIGCONT)
open("resumed", "w").close()
""")


def command(bench):
    return bench.train("""
note(f"pid{RANK}", os.getpid())
while RANK == 0 and not os.path.exists("resumed"): work(0.1)
""")
