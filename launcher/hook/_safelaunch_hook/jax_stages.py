"""The stages of JAX: jax.distributed.initialize, and the exchange of devices that follows it.

JAX's collectives are inside compiled programs, so there is no coll.enter; on NVIDIA's GPUs they are NCCL's, whose
plugin tells of the first. A rank that stays away ends
the others by SIGABRT, without an exception: only safelaunch can say who it was.
"""
import os
import sys

from . import answers, channel, ending, timeouts
from .patching import Call, quietly, send_failure, wrapper

_DEFAULT_TIMEOUT = 300  # JAX passes it on as if it were chosen


def watch(distributed):
    """Wraps initialize() once jax._src.distributed is imported."""
    distributed.State.initialize = _initialize(distributed.State.initialize)


def watch_backends(bridge):
    """Wraps the start of backends once jax._src.xla_bridge is imported; the two modules import each other."""
    if hasattr(bridge, "_init_backend"):
        bridge._init_backend = _init_backend(bridge._init_backend)


def _initialize(original):
    def rewrite(arguments):
        ours = timeouts.seconds()
        if ours is not None and arguments.get("initialization_timeout", _DEFAULT_TIMEOUT) == _DEFAULT_TIMEOUT:
            arguments["initialization_timeout"] = max(1, int(ours))

    def entered(arguments):
        channel.know_rank(rank=arguments.get("process_id"), world=arguments.get("num_processes"))
        channel.emit(
            "init.enter", backend="jax", backend_used="jax",
            init_method=arguments.get("coordinator_address"), meets=arguments.get("coordinator_address"),
            timeout_s=arguments.get("initialization_timeout", _DEFAULT_TIMEOUT),
        )
        answers.listen()
        ending.watch_child()

    def prepare(args, kwargs):
        call = Call(original, args, kwargs)
        call.change(rewrite)
        quietly("init.enter", entered, call.arguments)

        def has_group():
            state = args[0]
            channel.know_rank(rank=state.process_id, world=state.num_processes)
            channel.emit("group", backend="jax")

        def returned(_):
            quietly("group", has_group)

        def failed(error):
            send_failure("init.failed", error)

        return call.args, call.kwargs, returned, failed

    return wrapper(original, prepare)


def _init_backend(original):
    """Each platform's first use waits for every process's list of devices, for up to two minutes."""

    def prepare(args, kwargs):
        group = str(args[0] if args else kwargs.get("platform"))
        channel.emit("pg.enter", group=group)

        def returned(_):
            channel.emit("pg.exit", group=group, **({"followed": True} if _nccl_follows() else {}))

        def failed(error):
            if _does_without(group):
                channel.emit("pg.exit", group=group, made=False)
            else:
                send_failure("pg.failed", error, group=group)

        return args, kwargs, returned, failed

    return wrapper(original, prepare)


def _does_without(platform):
    """JAX tries every platform that it knows, and some may fail: on a host without a TPU that is no mistake."""
    bridge = sys.modules["jax._src.xla_bridge"]
    try:
        return not bridge.config.jax_platforms.value and bridge._backend_factories[platform].fail_quietly
    except (AttributeError, KeyError):
        return False


def _nccl_follows():
    """True if this JAX uses NVIDIA's GPUs, and its NCCL will load the plugin that tells of the first collective."""
    try:
        if os.path.basename(os.environ.get("NCCL_PROFILER_PLUGIN", "")) != "libsafelaunch-nccl.so":
            return False
        bridge = sys.modules["jax._src.xla_bridge"]
        wanted = bridge.config.jax_platforms.value
        platforms = bridge._backend_factories if not wanted else [
            platform for word in wanted.split(",") for platform in bridge.expand_platform_alias(word.strip())]
        return "cuda" in platforms and bridge.hardware_utils.has_visible_nvidia_gpu() and _nccl_has_profilers()
    except Exception:  # a JAX that keeps its platforms otherwise
        return False


def _nccl_has_profilers():
    """NCCL loads profiler plugins from 2.23 on; that for CUDA 13 begins with 2.27."""
    if "jax_plugins.xla_cuda13" in sys.modules:
        return True
    from importlib import metadata

    major, minor = metadata.version("nvidia-nccl-cu12").split(".")[:2]
    return (int(major), int(minor)) >= (2, 23)
