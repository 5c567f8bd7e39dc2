"""A rank closes its stderr before it loads torch."""
CUDA = "torch warns of a barrier that names no GPU, and fails as stderr is closed"


def command(bench):
    return bench.train("""
sys.stderr.close()
os.close(2)
os.open("/dev/null", os.O_WRONLY)
if RANK == 1: late()
""")
