"""pdb stands in rank 1, and a person at the terminal looks around before they go on."""
PERSON = ("(Pdb)", 11, "p RANK\nc\n")


def command(bench):
    return bench.train("""
if RANK == 1:
    late(0)
    import pdb
    pdb.Pdb(nosigint=True).set_trace()
    say("goes on")
""")
