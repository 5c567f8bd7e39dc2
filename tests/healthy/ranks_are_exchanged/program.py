"""The script places its ranks by itself: it gives them another RANK before init."""
from workbench import free_port


def command(bench):
    bench.env["OTHER_PORT"] = str(free_port())
    return bench.train("""
RANK = WORLD - 1 - RANK
os.environ["RANK"] = str(RANK)
os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)
os.environ["MASTER_PORT"] = os.environ["OTHER_PORT"]
if RANK == 0: late()
""")
