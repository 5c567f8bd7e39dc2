"""torchrun starts the ranks anew after a death; in their second life rank 1 sleeps."""
EXPECTED = ["training-stalled"]
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+']


def command(bench):
    return bench.stands_still("""
import signal
if os.environ['TORCHELASTIC_RESTART_COUNT'] == '0' and RANK == 1: os.kill(os.getpid(), signal.SIGKILL)
if os.environ['TORCHELASTIC_RESTART_COUNT'] == '1' and RANK == 1: sleeps()
steps(500)
""", options=["--max-restarts=1"])
