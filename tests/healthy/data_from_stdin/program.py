"""The program reads its data from a pipe of the shell, whose other end is late."""
from workbench import free_port

OPTIONS = ["--init-timeout", "40s"]


def command(bench):
    script = bench.program("""
if RANK == 0: say(sys.stdin.read().strip())
""")
    return bench.shell(f"(sleep 16; echo rows) | python -m torch.distributed.run --nproc_per_node 2 --master_port {free_port()} {script}\n")
