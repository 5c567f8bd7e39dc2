"""Each rank is a shell script that ends a Python well; rank 1's then waits a while, and tries again, before it trains."""
from workbench import free_port

OPTIONS = ["--init-timeout", "30s"]


def command(bench):
    script = bench.program("")
    bench.shell(f"python -c 'import time; time.sleep(0.5)'\nif [ $RANK = 1 ]; then sleep 12; fi\nexec python {script}\n", "rank.sh")
    return bench.torchrun("bash", "rank.sh", options=["--no-python", f"--master_port={free_port()}"])
