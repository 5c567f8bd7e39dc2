"""Rank 0 downloads into memory over a socket, two megabytes a second, while rank 1 waits in init."""


def make(bench):
    bench.operator("""
import socket
server = socket.create_server(("127.0.0.1", 0))
open("port.new", "w").write(str(server.getsockname()[1]))
os.rename("port.new", "port")
to = server.accept()[0]
for _ in range(140):
    to.sendall(bytes(200000))
    time.sleep(0.1)
to.close()
""")


def command(bench):
    return bench.train("""
import socket
if RANK == 0:
    late(0)
    size = 0
    with socket.create_connection(("127.0.0.1", int(open("port").read()))) as server:
        while part := server.recv(65536): size += len(part)
    say(f"{size} bytes")
""")
