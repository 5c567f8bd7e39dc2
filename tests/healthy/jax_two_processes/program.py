"""Two processes of JAX; the second works before it comes."""
from workbench import free_port

CUDA = "it is JAX on CPUs"
NEEDS = ["jax"]


def command(bench):
    bench.env["JAX_PLATFORMS"] = "cpu"
    script = bench.program(f"""
if RANK == 1: late()
import jax
jax.config.update("jax_cpu_collectives_implementation", "gloo")
note(f"waits{{RANK}}")
jax.distributed.initialize("127.0.0.1:{free_port()}", 2, RANK)
from jax.experimental import multihost_utils
say(f"process {{jax.process_index()}} of {{jax.process_count()}}: {{multihost_utils.process_allgather(RANK + 1).tolist()}}")
multihost_utils.sync_global_devices("end")
jax.distributed.shutdown()
""", end="")
    # gloo tells of its connections on stdout, and both at once would make one line of two.
    return bench.shell(f"RANK=0 python {script} | grep process & RANK=1 python {script} | grep process; wait\n")
