"""Rank 0 waits by inotify for a file that somebody outside writes."""
OPTIONS = ["--init-timeout", "40s"]


def make(bench):
    bench.operator("""
with open("other", "w") as file: file.write(str(os.getpid()))
wait_for("waits1")
wait_for("stands")
time.sleep(11)
open("drop/data", "w").close()
""")


def command(bench):
    return bench.train("""
import ctypes
if RANK == 0:
    while not os.path.exists("other"): work(0.1)
    libc = ctypes.CDLL(None)
    watch = libc.inotify_init()
    os.makedirs("drop", exist_ok=True)
    libc.inotify_add_watch(watch, b"drop", 8)
    note("stands")
    say(f"event {len(os.read(watch, 4096)) > 0}")
""")
