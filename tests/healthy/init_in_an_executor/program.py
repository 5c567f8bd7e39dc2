"""asyncio's loop is in the main thread, and init_process_group in one of its executor; rank 1 works first."""


def command(bench):
    return bench.train("""
import asyncio
if RANK == 1: late()

def meet():
    import torch, torch.distributed as dist
    note(f"waits{RANK}")
    device = own_device()
    dist.init_process_group(BACKEND)
    total = torch.ones(1).to(device)
    dist.all_reduce(total)
    dist.destroy_process_group()
    return int(total)

async def main():
    say(f"rank {RANK}: {await asyncio.to_thread(meet)}")

asyncio.run(main())
""", end="")
