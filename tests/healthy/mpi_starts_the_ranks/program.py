"""mpiexec starts the ranks; mpi4py tells them who is who."""
import shutil

from workbench import BIN, Impossible, free_port

NEEDS = ["mpi4py"]


def make(bench):
    if not shutil.which("mpiexec", path=bench.env["PATH"]):
        raise Impossible("there is no mpiexec")


def command(bench):
    return ["mpiexec", "-n", "2", f"{BIN}/python", bench.program(f"""
from mpi4py import MPI
RANK = MPI.COMM_WORLD.Get_rank()
os.environ.update(RANK=str(RANK), LOCAL_RANK=str(RANK), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="{free_port()}")
MPI.COMM_WORLD.Barrier()
if RANK == 1: late()
""")]
