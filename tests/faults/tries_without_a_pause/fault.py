"""Rank 1 tries a connection again and again, without a pause."""
EXPECTED = ['rank-busy']
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+ connects']


def command(bench):
    return bench.torchrun(bench.script("""
import os, sys, time, torch, torch.distributed as dist
RANK = int(os.environ['RANK'])
import socket
def connects():
    while True:
        try: return socket.create_connection(('127.0.0.1', 1), 1)
        except OSError: pass
if RANK == 1: connects()
dist.init_process_group('gloo')
dist.all_reduce(torch.ones(1))
"""))
