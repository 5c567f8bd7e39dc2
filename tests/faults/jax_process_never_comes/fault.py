"""One of two JAX processes never calls jax.distributed.initialize."""
EXPECTED = ["rank-missing", "jax-barrier"]
NEEDS = ["jax"]


def command(bench):
    bench.env["JAX_PLATFORMS"] = "cpu"
    return bench.spawn(bench.script(
        "import os, time, jax\nrank = int(os.environ['RANK'])\nif rank == 1: time.sleep(3600)\n"
        "jax.distributed.initialize(os.environ['MASTER_ADDR'] + ':' + os.environ['MASTER_PORT'], 2, rank)\n"))
