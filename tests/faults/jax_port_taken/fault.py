"""Another program listens on the JAX coordinator's port."""
EXPECTED = ["jax-port-taken", "port-taken", "own-port-taken"]
NEEDS = ["jax"]
PORT = 40123


def make(bench):
    bench.own_network()
    bench.python(f"import socket; s = socket.create_server(('', {PORT})); print('up', flush=True); input()")


def command(bench):
    bench.env["JAX_PLATFORMS"] = "cpu"
    return bench.spawn(bench.script(
        f"import os, jax\njax.distributed.initialize('127.0.0.1:{PORT}', 2, int(os.environ['RANK']))\n"))
