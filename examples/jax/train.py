"""A small multi-process JAX job: every process holds a part of the data, the gradient is summed over all.

    safelaunch --nproc-per-node 2 -- python train.py

Under safelaunch's own spawn the coordinator's address, the number of processes and the process's own
number are in the environment; nothing has to be configured.
"""

import os

import jax

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(
    coordinator_address=f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}",
    num_processes=int(os.environ["WORLD_SIZE"]),
    process_id=int(os.environ["RANK"]),
)

import jax.numpy as jnp  # noqa: E402  (the devices of all processes are known only now)
from jax.experimental import multihost_utils  # noqa: E402


def loss(weights, inputs, targets):
    return jnp.mean((inputs @ weights - targets) ** 2)


def main():
    key = jax.random.fold_in(jax.random.key(0), jax.process_index())
    inputs = jax.random.normal(key, (256, 4))
    targets = inputs @ jnp.arange(1.0, 5.0)
    weights = jnp.zeros(4)
    for _ in range(100):
        gradient = jax.grad(loss)(weights, inputs, targets)
        gradients = multihost_utils.process_allgather(gradient)  # the first one is the first collective
        weights -= 0.1 * gradients.mean(axis=0)
    if jax.process_index() == 0:
        print(f"{jax.process_count()} processes found {[round(float(w), 3) for w in weights]}")
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
