"""The program has its own use of faulthandler: a dump every second, and one on SIGUSR1."""


def command(bench):
    return bench.train("""
import faulthandler, signal
dump = open(f"dump{RANK}", "w")
faulthandler.enable(dump)
faulthandler.dump_traceback_later(1, repeat=True, file=dump)
faulthandler.register(signal.SIGUSR1, dump, all_threads=True, chain=False)
os.kill(os.getpid(), signal.SIGUSR1)
if RANK == 1: late()
faulthandler.cancel_dump_traceback_later()
say(f"rank {RANK}: {'most recent call first' in open(f'dump{RANK}').read()}")
""")
