"""concurrent.futures, a pool by spawn and a pool of threads, one after the other, without a world."""
import sys

CUDA = "it has no torch"


def command(bench):
    return [sys.executable, bench.script("""
import concurrent.futures as futures, multiprocessing as mp
def square(number): return number * number
if __name__ == "__main__":
    with futures.ProcessPoolExecutor(2) as pool: print(sum(pool.map(square, range(50))))
    with mp.get_context("spawn").Pool(2) as pool: print(sum(pool.imap_unordered(square, range(50))))
    with futures.ThreadPoolExecutor(4) as pool: print(sum(pool.map(square, range(50))))
""")]
