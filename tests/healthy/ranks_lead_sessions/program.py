"""Each rank goes on in a child that leads a session of its own, as daemons do."""


def command(bench):
    return bench.train("""
if os.fork(): sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
os.setsid()
say(f"rank {RANK}")
""", end="")
