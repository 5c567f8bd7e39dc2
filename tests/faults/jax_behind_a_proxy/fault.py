"""A proxy variable leads JAX's coordinator traffic to a proxy that does not know it."""
EXPECTED = ["jax-proxy"]
NEEDS = ["jax"]


def make(bench):
    bench.own_network()
    bench.python("import socket; s = socket.create_server(('127.0.0.1', 3128)); print('up', flush=True); input()")


def command(bench):
    bench.env.update(JAX_PLATFORMS="cpu", http_proxy="http://127.0.0.1:3128", grpc_proxy="http://127.0.0.1:3128")
    return bench.spawn(bench.script(
        "import os, jax\njax.distributed.initialize('localhost:' + os.environ['MASTER_PORT'], 2, int(os.environ['RANK']))\n"))
