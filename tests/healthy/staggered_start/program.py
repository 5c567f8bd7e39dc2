"""The ranks come one after the other, each some seconds after the one before, to spare the file server."""


def command(bench):
    return bench.train("""
time.sleep(5 * RANK)
""", ranks=4)
