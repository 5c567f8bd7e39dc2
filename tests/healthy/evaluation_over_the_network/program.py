"""Rank 0 asks a judge over the network for each sample, and the others wait for it in a barrier."""


def make(bench):
    bench.operator("""
import socket
server = socket.create_server(("127.0.0.1", 0))
open("port.new", "w").write(str(server.getsockname()[1]))
os.rename("port.new", "port")
to = server.accept()[0]
while sample := to.recv(65536):
    time.sleep(0.1)
    to.sendall(b"good")
""")


def command(bench):
    return bench.train("""
import socket, torch, torch.distributed as dist
device = own_device()
dist.init_process_group(BACKEND)
if RANK == 0:
    with socket.create_connection(("127.0.0.1", int(open("port").read()))) as judge:
        end = time.monotonic() + 12
        while time.monotonic() < end:
            judge.sendall(bytes(40000))
            assert judge.recv(4) == b"good"
dist.barrier()
say(f"rank {RANK}")
dist.destroy_process_group()
""", end="")
