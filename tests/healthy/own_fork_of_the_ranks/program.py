"""The script forks its ranks by itself and is none of them; the parent has loaded torch and waits."""
import sys

from workbench import MEET, free_port, indent


def command(bench):
    return [sys.executable, bench.program(f"""
import torch
os.environ.update(WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="{free_port()}")
def rank_of(rank):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank))
    if rank == 1: late()
    meet()

def meet():
{indent(MEET)}
children = []
for rank in range(2):
    child = os.fork()
    if child == 0:
        rank_of(rank)
        os._exit(0)
    children.append(child)
say(str([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]))
""", end="")]
