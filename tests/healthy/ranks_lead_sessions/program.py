"""Each rank makes itself the leader of a session, as daemons do."""


def command(bench):
    return bench.train("""
if RANK == 0: os.setpgid(0, 0)
else:
    if os.fork(): sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
    os.setsid()
say(f"rank {RANK}")
""", end="")
