"""A port for a job that a test starts: it must stay free from the choice until rank 0 listens on it.

The kernel hands out ports of its ephemeral range to whoever asks for any, and a rank that meets such a
stranger on its MASTER_PORT waits for it without a word. So the choice is made below that range, and below
the ports that safelaunch chooses from.
"""
import random
import socket

_FIRST, _LAST = 10000, 19999


def free_port():
    while True:
        port = random.randint(_FIRST, _LAST)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
                return port
            except OSError:
                continue
