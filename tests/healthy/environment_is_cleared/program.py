"""The ranks are started with a clean environment that keeps only what torch reads: no hook comes along."""
from workbench import free_port

CUDA = "it clears what puts the doubles in place"


def command(bench):
    script = bench.program("if RANK == 1: late()\n")
    bench.shell('exec env -i PATH="$PATH" RANK=$RANK LOCAL_RANK=$LOCAL_RANK WORLD_SIZE=$WORLD_SIZE MASTER_ADDR=$MASTER_ADDR MASTER_PORT=$MASTER_PORT '
                f'TORCHELASTIC_USE_AGENT_STORE=$TORCHELASTIC_USE_AGENT_STORE SAFELAUNCH_TEST_MARK=$SAFELAUNCH_TEST_MARK python {script}\n', "rank.sh")
    return bench.torchrun("bash", "rank.sh", options=["--no-python", f"--master_port={free_port()}"])
