"""A script plays two nodes: a torchrun each, and the second's rank is late."""
CUDA = "both nodes would take the first GPU of this host"
from workbench import free_port


def command(bench):
    script = bench.program("if RANK == 1: late()\n")
    run = f"python -m torch.distributed.run --nnodes 2 --nproc_per_node 1 --master_port {free_port()} --node_rank"
    return bench.shell(f"{run} 0 {script} & {run} 1 {script}; wait\n")
