"""Another program listens on the port; it is ours to choose another."""
from workbench import DDP

EXPECTED = None


def make(bench):
    bench.own_network()
    bench.python("import socket; s = socket.create_server(('', 29500)); print('up', flush=True); input()")


def command(bench):
    return bench.torchrun(DDP, "--steps", "5", options=["--master_port=29500"])
