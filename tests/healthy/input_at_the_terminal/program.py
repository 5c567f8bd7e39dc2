"""A rank asks the person at the terminal, who takes their time; the other waits in init."""
PERSON = ("delete the old checkpoint?", 11, "yes\n")


def command(bench):
    return bench.train("""
if RANK == 0:
    late(0)
    say("delete the old checkpoint?")
    say(input())
""")
