"""Actors in processes of their own (managers) inherit RANK and serve rank 0, which waits for their answers."""
from workbench import MEET, indent


def command(bench):
    return bench.train("""
from multiprocessing.managers import BaseManager
class Environment:
    def roll_out(self, hard):
        late() if hard else work(1)
        return 3
class Actors(BaseManager): pass
Actors.register("Environment", Environment)

def main():
    if RANK == 0:
        with Actors() as actors:
            environments = [actors.Environment() for _ in range(2)]
            say(str([environment.roll_out(number == 1) for number, environment in enumerate(environments)]))
    meet()

def meet():
""" + indent(MEET) + """
if __name__ == "__main__": main()
""", end="")
