"""gevent patches threads, sockets and sleep before torch is there: what the hook needs is not what it was."""
NEEDS = ["gevent"]


def command(bench):
    return bench.train("from gevent import monkey; monkey.patch_all()\ntime.sleep(0.5)\n")
