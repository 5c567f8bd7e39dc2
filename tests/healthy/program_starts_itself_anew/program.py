"""A program that has met executes itself anew, and meets again; rank 0 works in between."""
from workbench import free_port


def command(bench):
    bench.env["OTHER_PORT"] = str(free_port())
    return bench.train("""
if "AGAIN" not in os.environ:
    import torch.distributed as dist
    device = own_device()
    dist.init_process_group(BACKEND)
    dist.barrier()
    os.environ["AGAIN"] = "1"
    os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)
    os.environ["MASTER_PORT"] = os.environ["OTHER_PORT"]
    os.execv(sys.executable, [sys.executable, *sys.argv])
if RANK == 0: late()
""")
