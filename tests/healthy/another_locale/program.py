"""A rank sets its locale and its encoding, and writes what no ASCII holds."""


def command(bench):
    return bench.train("""
import locale
locale.setlocale(locale.LC_ALL, "C.UTF-8" if RANK else "C")
sys.stdout.reconfigure(encoding="utf-8")
say(f"rank {RANK} grüßt, 火")
if RANK == 1: late()
""")
