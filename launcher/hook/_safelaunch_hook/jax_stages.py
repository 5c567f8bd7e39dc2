"""The stages of JAX: jax.distributed.initialize, and the exchange of devices that follows it.

JAX's collectives are inside compiled programs, so there is no coll.enter. A rank that stays away ends
the others by SIGABRT, without an exception: only safelaunch can say who it was.
"""
import functools

from . import answers, channel, ending, timeouts
from .patching import Call, quietly, send_failure

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
            init_method=arguments.get("coordinator_address"),
            timeout_s=arguments.get("initialization_timeout", _DEFAULT_TIMEOUT),
        )
        answers.listen()
        ending.watch_child()

    @functools.wraps(original)
    def initialize(self, *args, **kwargs):
        call = Call(original, (self,) + args, kwargs)
        call.change(rewrite)
        quietly("init.enter", entered, call.arguments)
        try:
            result = original(*call.args, **call.kwargs)
        except BaseException as error:
            send_failure("init.failed", error)
            raise
        channel.know_rank(rank=self.process_id, world=self.num_processes)
        channel.emit("group", backend="jax")
        return result

    return initialize


def _init_backend(original):
    """Each platform's first use waits for every process's list of devices, for up to two minutes."""

    @functools.wraps(original)
    def _init_backend(platform, *args, **kwargs):
        channel.emit("pg.enter", group=str(platform))
        try:
            made = original(platform, *args, **kwargs)
        except BaseException as error:
            send_failure("pg.failed", error, group=str(platform))
            raise
        channel.emit("pg.exit", group=str(platform))
        return made

    return _init_backend
