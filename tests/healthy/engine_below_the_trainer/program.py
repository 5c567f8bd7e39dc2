"""Rank 0 starts an inference engine of two workers, ranks 0 and 1 at a port of their own; the second one loads its weights for long."""
from workbench import free_port


def command(bench):
    bench.script(f"""
import os, sys, time, torch, torch.distributed as dist
os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)
RANK = int(os.environ["RANK"])
end = time.monotonic() + 12 * RANK
while time.monotonic() < end: sum(range(10000))
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:{free_port()}", rank=RANK, world_size=2)
total = torch.ones(1)
dist.all_reduce(total)
sys.stdout.write(f"worker {{RANK}}: {{int(total)}}\\n")
dist.barrier()
dist.destroy_process_group()
""", "engine.py")
    return bench.train("""
import subprocess
if RANK == 0:
    workers = [subprocess.Popen([sys.executable, "engine.py"], env={**os.environ, "RANK": str(i), "LOCAL_RANK": str(i)}) for i in (0, 1)]
    assert [worker.wait() for worker in workers] == [0, 0]
""")
