"""A port for a job that a test starts: it must stay free from the choice until rank 0 listens on it.

The kernel hands out ports of its ephemeral range to whoever asks for any, and a rank that meets such a
stranger on its MASTER_PORT waits for it without a word. So the choice is made below that range, and below
the ports that safelaunch chooses from. Of tests that run beside each other each leaves alone what another
has chosen: the name of an abstract socket is the lease, until the test's process ends.
"""
import random
import socket

_FIRST, _LAST = 10000, 19999
_leases = []


def free_port():
    while True:
        port = random.randint(_FIRST, _LAST)
        lease = socket.socket(socket.AF_UNIX)
        try:
            lease.bind("\0safelaunch-test-port-%d" % port)
            with socket.socket() as probe:
                probe.bind(("", port))
        except OSError:
            lease.close()
            continue
        _leases.append(lease)
        return port
