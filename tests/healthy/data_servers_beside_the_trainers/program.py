"""Two of four processes train; the other two serve their data over sockets, never load torch, and only wait to be asked."""
from workbench import MEET, free_port


def command(bench):
    ports = [free_port() for _ in range(2)]
    meet = MEET.replace('(BACKEND)', '(BACKEND, rank=RANK, world_size=2)').strip()
    return bench.train(f"""
import socket
if RANK >= 2:
    with socket.create_server(("127.0.0.1", {ports}[RANK - 2])) as server, server.accept()[0] as trainer:
        trainer.sendall(b"data")
        while trainer.recv(100): pass
    sys.exit()
def connection():
    while True:
        try: return socket.create_connection(("127.0.0.1", {ports}[RANK]))
        except OSError: time.sleep(0.2)
data = connection()
say(data.recv(4).decode())
if RANK == 1: late()
{meet}
data.close()
""", end="", ranks=4)
