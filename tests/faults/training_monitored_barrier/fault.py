"""Rank 0 waits in a monitored_barrier of half an hour, rank 1 sleeps."""
EXPECTED = ["training-stalled"]
SAYS = ['[Rr]ank 1 is in job\\.py:\\d+ sleeps']


def command(bench):
    return bench.stands_still("""
import datetime
if RANK == 1: sleeps()
dist.monitored_barrier(timeout=datetime.timedelta(minutes=30))
""")
