"""Two ranks share one GPU, as under MPS: NCCL_HOSTID makes it think that they are on two hosts. Rank 1 is late."""
CUDA = True


def command(bench):
    return bench.on_gpus("", before="""
os.environ.update(NCCL_HOSTID=f"host{RANK}", CUDA_VISIBLE_DEVICES="0", LOCAL_RANK="0", CUDA_MPS_PIPE_DIRECTORY=HERE)
if RANK == 1: late()
""")
