"""Rank 0 waits until an editor's debugger connects, for longer than the deadlines; this debugpy only waits."""
from workbench import free_port


def make(bench):
    bench.operator("""
import socket
wait_for("waits1")
port = int(wait_for("listens"))
time.sleep(11)
socket.create_connection(("127.0.0.1", port))
""")


def command(bench):
    bench.script("""
import socket
def listen(address):
    global server
    server = socket.create_server(address)
    return server.getsockname()
def wait_for_client(): server.accept()
""", "debugpy.py")
    return bench.train(f"""
if RANK == 0:
    import torch, debugpy
    note("listens", debugpy.listen(("127.0.0.1", {free_port()}))[1])
    debugpy.wait_for_client()
    say("the editor is there")
""")
