"""Rank 0 waits in a System V queue for a message of a process outside of the job."""
OPTIONS = ["--init-timeout", "40s"]


def make(bench):
    bench.operator("""
with open("other", "w") as file: file.write(str(os.getpid()))
wait_for("waits1")
wait_for("stands")
time.sleep(11)
import ctypes
libc = ctypes.CDLL(None)
libc.msgsnd(libc.msgget(os.getpid(), 0o1666), (ctypes.c_long * 2)(1, 7), 8, 0)
""")


def command(bench):
    return bench.train("""
import ctypes
if RANK == 0:
    while not os.path.exists("other"): work(0.1)
    libc = ctypes.CDLL(None)
    queue = libc.msgget(int(open("other").read()), 0o1666)
    message = (ctypes.c_long * 2)()
    note("stands")
    libc.msgrcv(queue, message, 8, 0, 0)
    libc.msgctl(queue, 0, None)
    say(f"message {message[1]}")
""")
