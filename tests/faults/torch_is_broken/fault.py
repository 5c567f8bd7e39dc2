"""torch cannot be imported: a library of it lacks a symbol."""
EXPECTED = ["user-exception", "nccl-two-libraries"]


def command(bench):
    return bench.spawn(bench.script("raise ImportError('libtorch_cuda.so: undefined symbol: ncclCommShrink')\n"))
