"""Another program listens on the port, and it may not be changed."""
from workbench import DDP

EXPECTED = ["port-taken", "store-foreign", "store-silent"]
OPTIONS = ["--port", "keep"]


def make(bench):
    bench.own_network()
    bench.python("import socket; s = socket.create_server(('', 29500)); print('up', flush=True); input()")


def command(bench):
    return bench.torchrun(DDP, options=["--master_port=29500"])
