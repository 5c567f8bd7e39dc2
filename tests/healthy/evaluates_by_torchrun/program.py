"""Between init and the first collective rank 0 evaluates by a torchrun of its own with one rank."""
CUDA = "a rank of the evaluation would need a GPU of its own"


def command(bench):
    bench.program("work(10)\n", name="evaluate.py")
    return bench.train("""
import subprocess, torch, torch.distributed as dist
dist.init_process_group("gloo")
if RANK == 0:
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1", "evaluate.py"]
    say(subprocess.run(words, stdout=subprocess.PIPE, text=True).stdout.strip())
total = torch.ones(1)
dist.all_reduce(total)
say(f"rank {RANK}: {int(total)}")
dist.barrier()
dist.destroy_process_group()
""", end="")
