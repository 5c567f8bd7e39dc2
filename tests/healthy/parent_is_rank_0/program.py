"""The parent is rank 0 itself and starts rank 1 below it, as Lightning does; rank 1 inherits all of its environment."""
import sys

from workbench import MEET, free_port


def command(bench):
    return [sys.executable, bench.program(f"""
import subprocess
if "RANK" not in os.environ:
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="{free_port()}")
    other = subprocess.Popen([sys.executable, *sys.argv], env={{**os.environ, "RANK": "1", "LOCAL_RANK": "1"}})
else:
    late()
{MEET}
if RANK == 0 and "other" in globals(): assert other.wait() == 0
""", end="")]
