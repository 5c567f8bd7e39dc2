"""torchrun waits for a second node that is never started."""
from workbench import DDP, free_port

EXPECTED = ["nodes-missing", "store-timeout", "rendezvous-closed", "rank-missing"]


def command(bench):
    return bench.torchrun(DDP, options=["--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{free_port()}",
                                        "--rdzv-conf=join_timeout=5,timeout=5,last_call_timeout=1"])
