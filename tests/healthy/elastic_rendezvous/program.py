"""torchrun's elastic rendezvous (c10d) chooses ports by itself."""
import sys

from workbench import free_port


def command(bench):
    return [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{free_port()}",
            bench.program("if RANK == 1: late()\n")]
