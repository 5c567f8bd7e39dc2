"""Known before any launch: the host's own name leads nowhere, or to an address that is not here."""
import socket

EXPECTED = ["name-resolution"]
VERB = "doctor"


def make(bench):
    bench.own_mounts()
    bench.replace_file("/etc/hosts", f"127.0.0.1 localhost\n10.99.99.99 {socket.gethostname()}\n")
