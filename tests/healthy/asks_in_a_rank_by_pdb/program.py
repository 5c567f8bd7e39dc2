"""A rank stands in pdb and the person looks at a variable and goes on; the other waits in init."""
PERSON = ("the debugger comes", 11, "print(number + 1)\nc\n")
LINES = "rank|^43"


def command(bench):
    return bench.train("""
if RANK == 0:
    late(0)
    number = 42
    say("the debugger comes")
    import pdb
    debugger = pdb.Pdb()
    debugger.prompt = ""  # it would stand in front of another rank's line
    debugger.set_trace()
""")
