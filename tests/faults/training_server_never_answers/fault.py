"""Rank 1 waits for a server that took its connection and answers nothing."""
EXPECTED = ["training-stalled"]
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+ in fetch']


def command(bench):
    return bench.stands_still("""
import socket
def fetch():
    server = socket.create_server(('127.0.0.1', 0))
    return server, socket.create_connection(server.getsockname()).recv(1)
if RANK == 1: fetch()
steps(5)
""")
