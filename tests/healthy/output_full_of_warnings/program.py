"""The output is full of words that failures use."""


def command(bench):
    return bench.train("""
say("WARNING: connection refused, retrying; Address already in use? No space left on device; NCCL WARN")
sys.stderr.write("n0:1:1 [0] NCCL INFO Failed to initialize NET plugin IB\\n")
sys.stderr.write("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (caught, the batch is halved)\\n")
""")
