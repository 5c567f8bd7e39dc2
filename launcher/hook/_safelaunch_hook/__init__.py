"""safelaunch's hook: tells safelaunch how far this process has come on its way to the first collective.

Two doors lead here, and either may be the only one open: sitecustomize calls start() when the
interpreter starts, torch calls torch_is_imported() when it is completely imported. docs/hook.md has
the design, docs/hook-protocol.md the events. Three rules hold everywhere:

* Nothing of ours raises into the program. A failure is reported once, as `hook_error`.
* Nothing of ours waits for safelaunch. If it is gone, training goes on without a word.
* The program's own exceptions and results pass unchanged.

Every module of the package says one thing. A module that costs time is imported where it is needed,
because each Python process of the job pays for the imports at the top.
"""
import os
import sys

_done = set()


def _once(name):
    """True the first time: both doors open onto the same steps."""
    first = name not in _done
    _done.add(name)
    return first


def _is_asked_for():
    """True below a safelaunch, in a Python that the hook can serve."""
    return sys.version_info >= (3, 6) and any(name.startswith("SAFELAUNCH_") for name in os.environ)


def _may_be_a_rank(arguments):
    """True for a process that has a rank (Lightning gives its children the local one alone), and for a
    multiprocessing child, which learns its rank later (mp.spawn)."""
    has_rank = "RANK" in os.environ or "LOCAL_RANK" in os.environ
    return has_rank or "--multiprocessing-fork" in arguments


def _quietly(where, step):
    """Does a step and keeps its failure from the program: even a hook that cannot be imported must not
    stop an interpreter, or break `import torch`."""
    try:
        step()
    except Exception as error:
        try:
            from . import channel

            channel.fault(where, error)
        except Exception:
            pass


def start():
    """The interpreter has started. No part of the program has run yet."""
    if _is_asked_for() and _once("start"):
        _quietly("start", _start)


def torch_is_imported():
    """torch and torch.distributed are complete; no user code has taken a function from them yet."""
    if _is_asked_for() and _once("torch"):
        _quietly("torch", _watch_torch)


def _start():
    from . import channel, imports

    if os.environ.get("SAFELAUNCH_FAULTHANDLER") == "1":
        import faulthandler

        faulthandler.enable()
    if os.environ.get("SAFELAUNCH_BACKEND") == "gloo":  # JAX reads it early; on GPUs it has only NCCL
        os.environ.setdefault("JAX_CPU_COLLECTIVES_IMPLEMENTATION", "gloo")
    _watch_end()
    if _may_be_a_rank(channel.arguments()):
        from . import helpers

        helpers.watch()
    listen = _listen_early()
    imports.watch("torch", torch_is_imported, begins=listen)
    for debugger in ("debugpy", "pydevd", "remote_pdb", "rpdb"):
        imports.watch(debugger, lambda name=debugger: _watch_debugger(name))
    imports.watch("uvicorn.server", _watch_uvicorn)
    for part in ("scheduler", "data_parallel_controller", "detokenizer_manager"):
        imports.watch("sglang.srt.managers." + part, lambda part=part: _watch_sglang("sglang.srt.managers." + part))
    if sys.version_info < (3, 11):
        imports.watch("exceptiongroup._formatting", _watch_backport)
    imports.watch("jax._src.distributed", _watch_jax)
    imports.watch("jax._src.xla_bridge", _watch_jax_backends)
    imports.watch("jax", _jax_is_imported, begins=listen)
    channel.emit("start")


def _listen_early():
    """Gives the function that lets a rank answer questions before it comes to init, if it ever does.
    Call that when the import of torch or JAX begins, since a program that has neither may need to stay
    a single thread."""
    from . import channel

    if not _may_be_a_rank(channel.arguments()):
        return None
    from . import answers  # imported in the main thread, because it notes that thread

    return answers.listen


def _watch_debugger(name):
    from . import debuggers

    debuggers.watch(name)


def _watch_end():
    if _once("end"):
        from . import ending

        ending.watch()


def _watch_backport():
    """The backport of exceptiongroup has put its own excepthook in the place of ours."""
    from . import ending

    ending.watch_excepthook()


def _watch_uvicorn():
    from . import servers

    servers.watch_uvicorn()


def _watch_sglang(name):
    from . import servers

    servers.watch_sglang(name)


def _watch_torch():
    from . import imports, servers, torch_stages

    _watch_end()  # needed if a foreign sitecustomize has hidden ours
    torch_stages.watch(sys.modules["torch"])
    for name in servers.COMMUNICATORS:
        imports.watch(name, lambda name=name: servers.watch_communicators(name))


def _watch_jax():
    from . import jax_stages

    jax_stages.watch(sys.modules["jax._src.distributed"])
    _quietly("jax_cluster", _register_jax_cluster)


def _register_jax_cluster():
    from . import jax_cluster

    jax_cluster.register(sys.modules["jax._src.clusters"])


def _watch_jax_backends():
    from . import jax_stages

    jax_stages.watch_backends(sys.modules["jax._src.xla_bridge"])


def _jax_is_imported():
    from . import channel

    channel.emit("imported", lib="jax", version=str(getattr(sys.modules["jax"], "__version__", "")))
