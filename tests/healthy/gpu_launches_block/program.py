"""CUDA_LAUNCH_BLOCKING=1: every call waits for its kernel, so rank 0 stands inside the call itself until rank 1 comes."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
if RANK == 1: work(10)
""", before="os.environ['CUDA_LAUNCH_BLOCKING'] = '1'\n")
