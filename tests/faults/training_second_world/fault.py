"""Both destroy their world; rank 0 opens a second one, to which rank 1 does not come."""
EXPECTED = ["training-stalled"]
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+']


def command(bench):
    return bench.stands_still("""
dist.destroy_process_group()
if RANK == 1: sleeps()
dist.init_process_group('gloo', init_method='file://' + os.path.abspath('second'), rank=RANK, world_size=2)
""")
