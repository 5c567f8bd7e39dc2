"""torch.distributed.launch adds --local-rank, and the script knows --local_rank alone."""
import sys

EXPECTED = ['local-rank-argument']


def command(bench):
    script = bench.script("""
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int)
parser.parse_args()
""")
    return [sys.executable, "-m", "torch.distributed.launch", "--nproc_per_node", "2", script]
