"""A child in a session of its own does the rank's work."""


def command(bench):
    return bench.train("""
import subprocess
BURN = "import time; end = time.monotonic() + 9\\nwhile time.monotonic() < end: sum(range(9999))"
if RANK == 1:
    late(0)
    subprocess.run([sys.executable, "-c", BURN], start_new_session=True, check=True)
""")
