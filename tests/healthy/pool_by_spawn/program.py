"""A pool by spawn tokenises for rank 0: its children inherit RANK, and one of them may load torch."""
from workbench import MEET, indent


def command(bench):
    return bench.train("""
import multiprocessing
def tokenise(number):
    late() if number else work(1)
    return number * number

def main():
    if RANK == 0:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            say(str(pool.map(tokenise, range(2), chunksize=1)))
    meet()

def meet():
""" + indent(MEET) + """
if __name__ == "__main__": main()
""", end="")
