"""submitit's way: what Slurm starts has SLURM_PROCID and no RANK, unpickles a function, and that one sets RANK by itself, late in rank 1."""
import sys

from workbench import free_port

CUDA = "it asks for gloo"


WORDS = "import pickle, sys; print(pickle.load(open('job.pkl', 'rb'))())"


def command(bench):
    bench.script("""
import os, sys, time
def train():
    rank = int(os.environ["SLURM_PROCID"])
    def work(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end: sum(range(10000))
    import torch, torch.distributed as dist
    if rank == 1: work(12)
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="%d")
    dist.init_process_group("gloo")
    total = torch.ones(1)
    dist.all_reduce(total)
    dist.barrier()
    dist.destroy_process_group()
    return f"rank {rank}: {int(total)}"
""" % free_port(), "jobs.py")
    return [sys.executable, bench.script(f"""
import os, pickle, subprocess, sys, jobs
with open("job.pkl", "wb") as file: pickle.dump(jobs.train, file)
tasks = [subprocess.Popen([sys.executable, "-u", "-c", {WORDS!r}], stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, SLURM_PROCID=str(rank), SLURM_NTASKS="2")) for rank in range(2)]
for task in tasks: sys.stdout.write(task.communicate()[0])
sys.exit(max(task.returncode for task in tasks))
""", "submit.py")]
