"""Rank 0 serves, and broadcasts each request; between two of them its loop idles, and rank 1 waits in the next broadcast."""


def command(bench):
    return bench.train("""
import asyncio, subprocess, torch, torch.distributed as dist
CLIENT = '''
import socket, sys, time
for word in "one", "two", "stop":
    end = time.monotonic() + 5
    while time.monotonic() < end: sum(range(10000))
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
        server.sendall(word.encode() + b"\\\\n")
        server.recv(1)
'''
def share(word=None):
    words = [word]
    dist.broadcast_object_list(words, 0)
    say(f"rank {RANK}: {words[0]}")
    return words[0]
async def serve():
    stopped = asyncio.Event()
    async def answer(reader, writer):
        word = share((await reader.readline()).decode().strip())
        writer.close()
        if word == "stop": stopped.set()
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        client = subprocess.Popen([sys.executable, "-c", CLIENT, str(server.sockets[0].getsockname()[1])])
        await stopped.wait()
    client.wait()
dist.init_process_group("gloo")
share("begin")
if RANK == 0: asyncio.run(serve())
else:
    while share() != "stop": pass
dist.destroy_process_group()
""", end="")
