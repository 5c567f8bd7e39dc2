"""Ranks that do not import torch anew: each is forked from a Python that has imported it, without the hook.

A rank starts as Python does: with its own environment, through sitecustomize, up to the script as __main__. Its `import torch`
is an import like any other to whoever watches imports, only that its modules are there already. That saves two seconds of
processor a rank. Below its frames is one of this file. What depends on that, on the command line or on the import itself starts
a Python of its own.
"""
import array
import atexit
import ctypes
import gc
import importlib.machinery
import json
import os
import socket
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36
LONGEST = 1 << 20


class Rank(subprocess.Popen):
    """As Popen([python, path], env=env, start_new_session=True) with pipes at its stdout and stderr."""

    def __init__(self, path, env):
        (out, self._out), (err, self._err) = os.pipe(), os.pipe()
        self._env = env
        super().__init__([sys.executable, path], universal_newlines=True)
        os.close(self._out), os.close(self._err)
        self.stdout, self.stderr = os.fdopen(out), os.fdopen(err)

    def _execute_child(self, words, *_):
        self.pid = _forge().fork(words[1], self._env, self._out, self._err)
        self._child_created = True


class _Forge:
    """Our end of the process that forks the ranks. They become this process's children."""

    def __init__(self):
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError("this process cannot adopt ranks")
        bare = {name: value for name, value in os.environ.items() if not name.startswith("SAFELAUNCH_")}
        self._process = subprocess.Popen([sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()],
                                         env=dict(bare, OMP_NUM_THREADS="1", PYTHONFAULTHANDLER="1"))
        theirs.close()
        atexit.register(self._end)

    def fork(self, path, env, *descriptors):
        passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        self._socket.sendmsg([json.dumps([path, env]).encode()], passed)
        return int(self._socket.recv(LONGEST) or b"0") or self._fail()

    def _fail(self):
        raise OSError("the process that forks ranks has ended with %s" % self._process.wait())

    def _end(self):
        self._socket.close()
        self._process.wait()


_forges = []


def _forge():
    if not _forges:
        _forges.append(_Forge())
    return _forges[0]


class _Torch:
    """Hides torch's modules until the program imports torch: the finder and loader of that import."""

    def __init__(self):
        self._modules = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "torch"}
        self._spec = sys.modules["torch"].__spec__
        for name in self._modules:
            del sys.modules[name]

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name == "torch" else None

    def create_module(self, spec):
        return self._modules[spec.name]

    def exec_module(self, module):
        sys.modules.update(self._modules)
        module.__spec__ = self._spec


def _orders(control):
    """Forks for each order. Ends with None here, and with an order in each rank."""
    while True:
        order, rights, _, _ = control.recvmsg(LONGEST, socket.CMSG_SPACE(2 * array.array("i").itemsize))
        if not order:
            return None
        descriptors = array.array("i", rights[0][2])
        read, write = os.pipe()
        # A rank's parent ends at once, so that the rank is adopted by whoever ordered it, before that hears of it.
        between = os.fork()
        if between == 0:
            rank = os.fork()
            if rank:
                os.write(write, b"%d" % rank)
                os._exit(0)
            os.setsid()
            os.dup2(descriptors[0], 1), os.dup2(descriptors[1], 2)
            os.closerange(3, 64)
            return json.loads(order.decode())
        os.waitpid(between, 0)
        control.send(os.read(read, 32))
        for descriptor in (read, write, *descriptors):
            os.close(descriptor)


def _begin(path, env):
    """What an interpreter does before it runs a script; the script's code and name space."""
    os.environ.clear()
    os.environ.update(env)
    sys.argv[:] = [path]
    sys.path[:] = [os.path.dirname(path)] + env["PYTHONPATH"].split(":") + sys.path[1:]
    sys.meta_path.insert(0, _Torch())
    sys.modules.pop("sitecustomize", None)
    importlib.import_module("sitecustomize")
    main = type(sys)("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__)
    sys.modules["__main__"] = main
    with open(path) as file:
        return compile(file.read(), path, "exec"), main.__dict__


if __name__ == "__main__":
    __import__("torch.distributed")
    gc.freeze()  # no rank walks over what torch's modules hold, which would copy their pages
    _order = _orders(socket.socket(fileno=int(sys.argv[1])))
    if _order:
        exec(*_begin(*_order))
