"""A healthy job whose output is full of words that failures use."""
EXPECTED = None


def command(bench):
    return bench.torchrun(bench.job(
        "print('WARNING: connection refused, retrying; Address already in use? No space left on device; NCCL WARN', flush=True)\n"
        "print('n0:1:1 [0] NCCL INFO Failed to initialize NET plugin IB', file=sys.stderr, flush=True)\n"
        "dist.all_reduce(torch.ones(1))\ndist.destroy_process_group()\n"))
