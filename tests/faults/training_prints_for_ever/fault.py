"""Rank 1 prints the same line for ever and calls nothing more; rank 0 waits in its next all_reduce."""
EXPECTED = ["training-stalled"]
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+']


def command(bench):
    return bench.stands_still("""
while RANK == 1: print('step 5 loss 1.0', flush=True); time.sleep(0.01)
steps(5)
""")
