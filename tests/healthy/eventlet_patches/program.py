"""eventlet patches threads, sockets and sleep before torch is there."""
NEEDS = ["eventlet"]


def command(bench):
    return bench.train("import eventlet; eventlet.monkey_patch()\ntime.sleep(0.5)\n")
