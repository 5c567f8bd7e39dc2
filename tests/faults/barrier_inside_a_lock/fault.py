"""Each rank takes a file lock and waits in a barrier while it holds it."""
EXPECTED = ['lock-across-collective']
SAYS = ['data\\.lock', '[Rr]anks? \\d']
NEEDS = ["filelock"]


def command(bench):
    return bench.torchrun(bench.job("""
import filelock
with filelock.FileLock(os.path.abspath('data.lock')): dist.barrier()
"""), ranks=3)
