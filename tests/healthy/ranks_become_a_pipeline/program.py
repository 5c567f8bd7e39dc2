"""Ranks without torch end as a shell pipeline."""
CUDA = "it has no torch"


def command(bench):
    return bench.train("""
sys.stdout.flush()
os.execlp("sh", "sh", "-c", f"echo rank {RANK} | cat; exit 0")
""", end="")
