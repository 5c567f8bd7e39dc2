"""Rank 0 asks a database outside the job, and waits for its answer without a deadline of its own."""
OPTIONS = ["--init-timeout", "40s"]  # it idles, which is more than being quiet


def make(bench):
    bench.operator("""
import socket
server = socket.create_server(("127.0.0.1", 0))
open("port.new", "w").write(str(server.getsockname()[1]))
os.rename("port.new", "port")
to = server.accept()[0]
assert to.recv(5) == b"query"
time.sleep(12)
to.sendall(b"rows")
""")


def command(bench):
    return bench.train("""
import socket
if RANK == 0:
    late(0)
    with socket.create_connection(("127.0.0.1", int(open("port").read()))) as database:
        database.sendall(b"query")
        say(database.recv(4).decode())
""")
