"""Rank 1's wrapper waits for a service that is never up, by connecting once a second."""
EXPECTED = ['rank-missing']
SAYS = ['[Rr]ank 1']


def command(bench):
    script = bench.job("dist.all_reduce(torch.ones(1))\n")
    bench.script(f"""
if [ $RANK = 1 ]; then
  until (exec 3<>/dev/tcp/127.0.0.1/1) 2>/dev/null; do sleep 1; done
fi
exec python {script}
""", "rank.sh")
    return bench.torchrun("bash", "rank.sh", options=["--no-python"])
