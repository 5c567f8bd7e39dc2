"""A worker of rank 1's pool is killed, as by a lack of memory: map never returns."""
EXPECTED = ['child-died']
SAYS = ['[Rr]ank 1']


def command(bench):
    return bench.torchrun(bench.script("""
import os, sys, time, torch, torch.distributed as dist
RANK = int(os.environ['RANK'])
import multiprocessing as mp, signal
def work(number):
    if number == 3: os.kill(os.getpid(), signal.SIGKILL)
    return number
if __name__ == '__main__':
    if RANK == 1:
        with mp.get_context('fork').Pool(2) as pool: pool.map(work, range(8), chunksize=1)
    dist.init_process_group('gloo')
    dist.all_reduce(torch.ones(1))
"""))
