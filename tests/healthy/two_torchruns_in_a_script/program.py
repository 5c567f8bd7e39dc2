"""A script runs two torchruns beside each other; in one of them a rank is late."""
from workbench import free_port


def command(bench):
    script = bench.program("if RANK == 1 and sys.argv[1] == 'b': late()\n")
    run = "python -m torch.distributed.run --nproc_per_node=2 --master_port"
    return bench.shell(f"{run} {free_port()} {script} a & {run} {free_port()} {script} b; wait\n")
