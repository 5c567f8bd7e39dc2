"""Rank 0 waits for the end of a process outside of the job."""
OPTIONS = ["--init-timeout", "40s"]


def make(bench):
    bench.operator("""
with open("other", "w") as file: file.write(str(os.getpid()))
wait_for("waits1")
wait_for("stands")
time.sleep(11)
""")


def command(bench):
    return bench.train("""
import ctypes
if RANK == 0:
    while not os.path.exists("other"): work(0.1)
    import select
    ends = select.poll()
    ends.register(os.pidfd_open(int(open("other").read())), 1)
    note("stands")
    ends.poll()
    say("it has ended")
""")
