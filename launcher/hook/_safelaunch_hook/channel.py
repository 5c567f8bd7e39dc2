"""The connection to safelaunch: packets out, requests in. One for the process; docs/hook-protocol.md.

emit() never waits. A packet that the kernel does not take at once stays in a short queue for the next
time; once safelaunch is gone everything is dropped without a word.
"""
import errno
import os
import sys
import time

from . import native
from .json_writer import encode, integer

_QUEUE = 64  # packets that wait for a safelaunch which is slow to read
_LONGEST_ANSWER = 5  # seconds for which an answer that is stuck inside torch delays the exit
_SEND_FLAGS = 0x40 | 0x4000  # MSG_DONTWAIT, and MSG_NOSIGNAL because programs reset SIGPIPE
_RANK_VARIABLES = (("rank", "RANK"), ("world", "WORLD_SIZE"), ("local_rank", "LOCAL_RANK"))


class _Connection:
    """The state that belongs to one process. A forked child makes its own."""

    def __init__(self):
        self.pid = os.getpid()
        self.lock = native.RLock()  # re-entrant, because a signal handler may emit while we do
        self.answering = native.allocate_lock()
        self.socket = None
        self.inode = 0
        self.waiting = []
        self.dropped = 0
        self.ending = False
        self.gone = not os.environ.get("SAFELAUNCH_HOOK")
        self.rank = {}  # the program's own words on its rank; until then the environment counts


_connection = _Connection()
_failed = set()


def emit(event, **fields):
    """Sends an event, with the time and the known parts of the rank."""
    connection = _of_this_process()
    if connection.gone:
        return
    try:
        packet = {"e": event, "t": _now()}
        packet.update(_rank(connection))
        packet.update(fields)
        with connection.lock:
            connection.waiting.append(packet)
            if len(connection.waiting) > _QUEUE:
                del connection.waiting[0]
                connection.dropped += 1
            _flush(connection)
    except Exception:  # a text that cannot be written, say: this event is lost, the next one is not
        pass


def fault(where, error):
    """Tells that the hook itself failed, once for each place."""
    if where not in _failed:
        _failed.add(where)
        emit("hook_error", where=where, err="%s: %s" % (type(error).__name__, error))


def know_rank(**fields):
    """Notes the program's own words on its rank, which count more than the environment (mp.spawn has
    none)."""
    said = {key: integer(value) for key, value in fields.items()}
    _of_this_process().rank.update({key: value for key, value in said.items() if value is not None})


def forget_rank():
    """The program joins another world, in which it may be another rank."""
    _of_this_process().rank.clear()


def is_open():
    return not _of_this_process().gone


def is_connected():
    """Tries to connect where that has not been possible yet (safelaunch's backlog was full)."""
    connection = _of_this_process()
    with connection.lock:
        _flush(connection)
        return connection.socket is not None


def receiver():
    """The socket at which to wait for a request; it gives nothing when there will be none any more. None where the program
    has closed our descriptor: the thread that waits is then all that keeps the connection, and it ends with this."""
    opened = _connection.socket
    return opened if opened and _is_ours(opened, _connection.inode) else None


def answering():
    """A lock to hold while a question is answered: end() waits for it, and nothing is answered from then on."""
    return _connection.answering


def is_ending():
    """Whether end() waits."""
    return _connection.ending


def stop_receiving():
    """Ends the wait for a request, in whichever thread it is. A request then fails with EPIPE."""
    opened = _connection.socket
    if opened and _connection.pid == os.getpid():  # a parent's end is not ours to close
        try:
            opened.shutdown(0)  # SHUT_RD
        except OSError:
            pass


def end():
    """The last event is sent. The descriptor stays open, so that its end is the end of the process;
    only Python's object lets go of it, or the interpreter would warn of an unclosed socket. A process aborts whose
    interpreter ends while a thread is inside torch: an answer that is under way comes to its end first."""
    stop_receiving()
    connection = _of_this_process()
    connection.ending = True
    try:
        connection.answering.acquire(True, _LONGEST_ANSWER)
    finally:  # a signal's handler may raise meanwhile
        connection.gone = True
        if connection.socket is not None:
            connection.socket.detach()


def arguments():
    """The command line, also in sitecustomize, where sys.argv is not set yet."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return os.fsdecode(file.read(8192)).split("\0")[:-1]
    except OSError:
        return list(getattr(sys, "argv", []))


def _now():
    return time.monotonic_ns() if hasattr(time, "monotonic_ns") else int(time.monotonic() * 1e9)


def _rank(connection):
    known = {}
    for field, variable in _RANK_VARIABLES:
        value = connection.rank.get(field)
        text = os.environ.get(variable, "")
        if value is None and text.isdigit():
            value = int(text)
        if value is not None:
            known[field] = value
    # Lightning gives its own ranks no RANK: on the first node it is the local one.
    if "rank" not in known and {"local_rank", "world"} <= set(known) and os.environ.get("NODE_RANK") == "0":
        known["rank"] = known["local_rank"]
    return known


def _of_this_process():
    if _connection.pid != os.getpid():  # Python 3.6 has no register_at_fork
        _forget()
    return _connection


def _forget():
    """In a forked child: the parent's connection must not stay open here, or its end would say
    nothing about the parent's."""
    global _connection
    opened, inode = _connection.socket, _connection.inode
    _connection = _Connection()
    _close(opened, inode)


def _open_socket():
    """A socket above the standard streams: where one of those is closed, the program finds it closed."""
    import _socket

    below = []
    try:
        while True:
            opened = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
            if opened.fileno() > 2:
                return opened
            below.append(opened)
    finally:
        for one in below:
            one.close()


def _connect(connection):
    name = os.environ["SAFELAUNCH_HOOK"]
    opened = _open_socket()
    try:
        opened.setblocking(False)  # a full backlog would make connect() wait
        opened.connect("\0" + name[1:] if name.startswith("@") else name)
        opened.setblocking(True)  # for the thread that listens; sending has its own flag
        opened.send(_hello(), _SEND_FLAGS)
    except BlockingIOError:
        opened.close()
        return
    except OSError:
        opened.close()
        connection.gone = True
        return
    connection.socket = opened
    connection.inode = os.fstat(opened.fileno()).st_ino


def _hello():
    return encode({
        "e": "hello", "t": _now(), "token": os.environ.get("SAFELAUNCH_HOOK_TOKEN", ""),
        "pid": os.getpid(), "ppid": os.getppid(), "python": "%d.%d.%d" % sys.version_info[:3],
        "argv": arguments()[:3],
    })


def _flush(connection):
    if connection.socket is None and not connection.gone:
        _connect(connection)
    while connection.waiting and connection.socket is not None:
        packet = connection.waiting.pop(0)
        try:
            _send(connection, packet)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.ENOBUFS):
                connection.waiting.insert(0, packet)
                return
            _close(connection.socket, connection.inode)
            connection.socket, connection.gone, connection.waiting = None, True, []


def _send(connection, packet):
    if not _is_ours(connection.socket, connection.inode):
        raise OSError(errno.EBADF, "the program has closed our socket")
    dropped = connection.dropped
    if dropped:
        packet = dict(packet, dropped=dropped)
    connection.socket.send(encode(packet), _SEND_FLAGS)
    connection.dropped -= dropped


def _is_ours(opened, inode):
    """A program may close every descriptor (daemons do) and open its own under our number."""
    try:
        return os.fstat(opened.fileno()).st_ino == inode
    except OSError:
        return False


def _close(opened, inode):
    if opened is None:
        return
    if _is_ours(opened, inode):
        opened.close()
    else:
        opened.detach()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
