"""Known before any launch: nobody listens at MASTER_ADDR:MASTER_PORT, and this is not rank 0's host."""
from workbench import free_port

EXPECTED = ["connect-failed"]
VERB = "doctor"


def make(bench):
    bench.env.update(RANK="1", WORLD_SIZE="2", LOCAL_RANK="0", NODE_RANK="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
