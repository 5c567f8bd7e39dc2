"""Two shells, one rank each; only rank 0's is under safelaunch, and its rank is late."""
from workbench import free_port

INSIDE = True


def command(bench):
    script = bench.program("if RANK == 0: late()\n")
    return bench.around(f"""
export MASTER_ADDR=127.0.0.1 MASTER_PORT={free_port()} WORLD_SIZE=2
RANK=1 python {script} & other=$!
RANK=0 $SL python {script}
echo $?
wait $other
echo $?
""")
