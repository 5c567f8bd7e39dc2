"""A script prepares with three ranks, and then trains with two, one of which is late."""
from workbench import free_port


def command(bench):
    prepare = bench.script("import os; os.write(1, b'prepared %s\\n' % os.environb[b'RANK'])", "prepare.py")
    train = bench.program("if RANK == 1: late()\n")
    return bench.shell(f"python -m torch.distributed.run --standalone --nproc_per_node 3 {prepare}\n"
                       f"python -m torch.distributed.run --nproc_per_node 2 --master_port {free_port()} {train}\n")
