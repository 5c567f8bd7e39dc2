"""Reads an exception: its name, its text, and whether it comes from communication."""
import re
import traceback

# Words of torch's store and groups, gloo, NCCL and JAX's distributed runtime when they fail. Texts of
# real failures are in tests/hook/test_exceptions.py.
_TEXT = re.compile(
    r"gloo|nccl|TCPStore|c10d|process group|socket has (timed out|failed)|clients joined"
    r"|Connection (reset|refused|closed) by peer|torch\.distributed|rendezvous"
    r"|coordination (service|agent)|DEADLINE_EXCEEDED|GetKeyValue\(\) timed out|jax\.distributed",
    re.IGNORECASE,
)
_TYPES = ("torch.distributed.Dist", "torch._C._DistError")
_FILES = (
    "torch/distributed/distributed_c10d.py",
    "torch/distributed/rendezvous.py",
    "jax/_src/distributed.py",
)
_FRAMES = 60
_ENDS_OF_HANDLERS = ("POP_EXCEPT", "RERAISE", "RAISE_VARARGS")
_LONGEST_CHAIN = 100  # exceptions that led to one another
_PLAIN = (str, bytes, int, float, bool, type(None))


def type_name(error):
    kind = type(error)
    return kind.__name__ if kind.__module__ == "builtins" else "%s.%s" % (kind.__module__, kind.__qualname__)


def text(error):
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def fields(error):
    """An exception as the events have it, and where it was raised, the innermost frame last."""
    return _fields(error, str, text(error))


def fields_at_a_look(error):
    """The same of an exception that the program still handles, from a thread of ours: nothing of the program's runs."""
    raised = "".join(traceback.format_tb(error.__traceback__))
    return _fields(error, _plain_words, "%s%s: %s\n" % (raised, type_name(error), _plain_words(error)))


def _fields(error, words, whole):
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return {"type": type_name(error), "err": words(error), "traceback": whole, "comm": is_communication(error, words),
            "frames": ["%s:%s %s" % (frame.filename, frame.lineno, frame.name) for frame in frames]}


def _plain_words(error):
    """A `__str__` of the program's may wait for what the program holds; that of a tensor waits for its device."""
    plain = [one for one in error.args if type(one) in _PLAIN]
    if len(plain) == len(error.args) and not hasattr(type(error).__str__, "__code__"):
        return str(error)
    return ", ".join(map(str, plain))


def leaves(error):
    """Whether an exception that is being handled goes on to the caller afterwards, as from a `finally`, a `with` and
    before a `raise`. An `except` that makes up for it (a file that is not there is fetched) ends it: Python pops it
    before anything else raises."""
    import opcode

    if error.__traceback__ is None:
        return False
    frame = error.__traceback__.tb_frame  # which handles it
    code = frame.f_code.co_code
    following = (opcode.opname[code[at]] for at in range(max(0, frame.f_lasti), len(code), 2))
    return next((name != "POP_EXCEPT" for name in following if name in _ENDS_OF_HANDLERS), True)


def is_communication(error, words=str):
    """True for an error of the runtime (RuntimeError and its kin) that communication raised, and for
    an exception that was raised because of one. `words` gives the text of each."""
    return any(_tells_of_communication(one, words) for one in chain(error))


def chain(error):
    """The exception, the one that led to it, and so on. A chain may be a ring: `raise e from e`."""
    chain = []
    while error is not None and len(chain) < _LONGEST_CHAIN and not any(error is known for known in chain):
        chain.append(error)
        because = error.__cause__
        error = error.__context__ if because is None and not error.__suppress_context__ else because
    return chain


def _tells_of_communication(error, words):
    if type_name(error).startswith(_TYPES):
        return True
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    # A connection that breaks may be the script's own, to a database say.
    if isinstance(error, OSError):
        return any(file.endswith(_FILES) for file in files)
    if not isinstance(error, RuntimeError):
        return False
    return bool(_TEXT.search(words(error))) or bool(files and files[-1].endswith(_FILES))
