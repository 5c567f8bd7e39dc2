"""Each rank sees its own GPU alone, and calls it device 0; rank 1 is late."""
CUDA = True


def command(bench):
    return bench.on_gpus("", before="""
os.environ.update(CUDA_VISIBLE_DEVICES=os.environ["LOCAL_RANK"], LOCAL_RANK="0")
if RANK == 1: late()
""")
