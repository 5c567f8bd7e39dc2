"""Each rank runs a torchrun of its own, whose second rank is late, before the outer ranks meet."""


def command(bench):
    bench.program("if RANK == 1: work(10)\n", name="trial.py")
    return bench.train("""
import subprocess
words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "trial.py"]
done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
say(f"search {RANK}: {done.returncode}, {len(done.stdout.splitlines())} lines")
""")
