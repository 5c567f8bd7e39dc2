"""Rank 1 was given another master, which accepts and says nothing."""
EXPECTED = ['different-stores']
SAYS = ['[Rr]ank 1', '127.0.0.2']


def make(bench):
    bench.python("""
import socket
server = socket.create_server(("127.0.0.2", 0))
with open("port", "w") as file: file.write(str(server.getsockname()[1]))
print("there", flush=True)
kept = []
while True: kept.append(server.accept())
""", cwd=bench.folder)


def command(bench):
    script = bench.script("""
import os, torch.distributed as dist
if os.environ["RANK"] == "1":
    os.environ.update(MASTER_ADDR="127.0.0.2", MASTER_PORT=open("port").read(), TORCHELASTIC_USE_AGENT_STORE="False")
dist.init_process_group("gloo")
""")
    return bench.torchrun(script)
