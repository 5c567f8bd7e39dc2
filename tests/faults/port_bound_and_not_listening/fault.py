"""Another program has bound the port, and does not listen yet: connecting to it tells nothing."""
from workbench import DDP

EXPECTED = ["port-taken", "own-port-taken"]
OPTIONS = ["--port", "keep"]


def make(bench):
    bench.own_network()
    bench.python("import socket; s = socket.socket(); s.bind(('', 29500)); print('up', flush=True); input()")


def command(bench):
    return bench.torchrun(DDP, options=["--master_port=29500"])
