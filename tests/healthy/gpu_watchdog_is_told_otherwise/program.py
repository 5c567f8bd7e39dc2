"""The user has set the variables of torch's own watchdog, and a timeout of the group; rank 1 is late for the first collective."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
from datetime import timedelta
dist.distributed_c10d._set_pg_timeout(timedelta(seconds=100))
if RANK == 1: work(10)
""", before="""
os.environ.update(TORCH_NCCL_BLOCKING_WAIT="1", TORCH_NCCL_ENABLE_MONITORING="0", TORCH_NCCL_TRACE_BUFFER_SIZE="2000",
                  TORCH_NCCL_DUMP_ON_TIMEOUT="1")
""")
