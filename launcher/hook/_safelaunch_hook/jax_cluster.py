"""Lets jax.distributed.initialize() without arguments find its coordinator, its number and their count where safelaunch
has spawned the processes, as it finds them under Slurm or Open MPI.

It counts before the other environments: below `srun safelaunch` their variables tell of safelaunch's own process.
"""
import os

_NEEDED = ("SAFELAUNCH_RUN_ID", "JAX_COORDINATOR_ADDRESS", "RANK", "WORLD_SIZE")


def register(clusters):
    base = clusters.ClusterEnv

    class SafelaunchCluster(base):
        name = "safelaunch"

        @classmethod
        def is_env_present(cls):
            return all(os.environ.get(name) for name in _NEEDED)

        @classmethod
        def get_coordinator_address(cls, *args, **kwargs):
            return os.environ["JAX_COORDINATOR_ADDRESS"]

        @classmethod
        def get_process_count(cls):
            return int(os.environ["WORLD_SIZE"])

        @classmethod
        def get_process_id(cls):
            return int(os.environ["RANK"])

    known = base._cluster_types
    known.remove(SafelaunchCluster)
    known.insert(0, SafelaunchCluster)
