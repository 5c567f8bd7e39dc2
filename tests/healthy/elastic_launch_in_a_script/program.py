"""The script calls torch's elastic_launch itself, as notebooks and frameworks do; rank 1 is late."""
import sys

from workbench import MEET, indent

CUDA = "LOCAL_RANK comes after the module is loaded"


def command(bench):
    bench.program("""
def train(factor):
    if os.environ["RANK"] == "1": late()
    meet()
    return int(os.environ["RANK"]) * factor
def meet():
""" + indent(MEET), end="", name="ranks.py")
    return [sys.executable, bench.script("""
from ranks import train
if __name__ == "__main__":
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch
    config = LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2, rdzv_backend="c10d", rdzv_endpoint="localhost:0", run_id="x",
                          max_restarts=0, start_method="spawn")
    print(elastic_launch(config, train)(5))
""")]
