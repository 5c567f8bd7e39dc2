"""Rank 1's event loop waits for a future that nobody sets."""
EXPECTED = ['rank-missing']
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+']


def command(bench):
    return bench.torchrun(bench.script("""
import os, sys, time, torch, torch.distributed as dist
RANK = int(os.environ['RANK'])
import asyncio
async def waits(): await asyncio.get_running_loop().create_future()
if RANK == 1: asyncio.run(waits())
dist.init_process_group('gloo')
dist.all_reduce(torch.ones(1))
"""))
