"""A shell script is each rank, and its Python meets at another port than the launcher's; rank 1 is late, then both train."""
from workbench import free_port


def command(bench):
    bench.program("if RANK == 1: late()\n")
    run = bench.script(f"""#!/bin/bash
export MASTER_PORT={free_port()}
unset TORCHELASTIC_USE_AGENT_STORE
python job.py
true
""", "run.sh")
    return bench.torchrun(run, options=["--no-python", f"--master_port={free_port()}"])
