"""Two processes of JAX, each with a GPU, whose first call that meets the other gathers a value of each.

FAULT=absent-before-init: process 1 never comes to jax.distributed.initialize(); absent-before-call: not to the gathering.
"""

import os
import sys
import time

if "ONE_GPU" in os.environ:  # the folder of one_gpu.py, where both share one GPU
    sys.path.append(os.environ["ONE_GPU"])
    import one_gpu  # noqa: F401  (before jax)
import jax
import numpy
from jax._src import hardware_utils
from jax.experimental import multihost_utils

RANK = int(os.environ["RANK"])
# The doubles have no device files, without which JAX does not look for a driver.
hardware_utils.has_visible_nvidia_gpu = lambda: True


def never_comes():
    time.sleep(3600)


if RANK == 1 and os.environ["FAULT"] == "absent-before-init":
    never_comes()
jax.distributed.initialize(f"127.0.0.1:{os.environ['MASTER_PORT']}", 2, RANK, local_device_ids=[int(os.environ["LOCAL_RANK"])])
jax.devices()
if RANK == 1 and os.environ["FAULT"] == "absent-before-call":
    never_comes()
gathered = multihost_utils.process_allgather(numpy.full(2, RANK + 1.0, numpy.float32))
assert gathered.tolist() == [[1, 1], [2, 2]], gathered
print("passed", flush=True)
jax.distributed.shutdown()
