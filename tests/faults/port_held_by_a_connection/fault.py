"""An outgoing connection of another program has the port as its own end."""
from workbench import DDP

EXPECTED = ["port-taken", "own-port-taken"]
OPTIONS = ["--port", "keep"]


def make(bench):
    bench.own_network()
    bench.python("import socket; s = socket.create_server(('127.0.0.1', 40001)); c = socket.socket();"
                 "c.bind(('127.0.0.1', 29500)); c.connect(('127.0.0.1', 40001)); a = s.accept(); print('up', flush=True); input()")


def command(bench):
    return bench.torchrun(DDP, options=["--master_port=29500"])
