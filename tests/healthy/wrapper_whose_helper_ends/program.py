"""Each rank is a shell script that runs a Python, which ends well, and then works by itself before it trains."""
from workbench import free_port

PREPARE = """
python -c 'import torch; print(torch.ones(1).item())' >/dev/null
pack() { head -c 20000000 /dev/zero | gzip -9 >/dev/null; }
if [ $RANK = 1 ]; then
  until [ -e waits0 ]; do pack; done
  end=$((SECONDS + 10))
  while [ $SECONDS -lt $end ]; do pack; done
fi
"""


def command(bench):
    script = bench.program("")
    bench.shell(PREPARE + f"exec python {script}\n", "rank.sh")
    return bench.torchrun("bash", "rank.sh", options=["--no-python", f"--master_port={free_port()}"])
