"""Rank 0 prepares its data by a server of its own in uvloop, while rank 1 waits in init."""
NEEDS = ["uvloop"]


def command(bench):
    return bench.train("""
async def answer(reader, writer):
    while line := await reader.readline():
        writer.write(line.upper())
        await writer.drain()
    writer.close()

async def talk():
    import asyncio
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    end = time.monotonic() + 11
    while time.monotonic() < end:
        writer.write(b"word\\n")
        assert await reader.readline() == b"WORD\\n"
    writer.close()
    server.close()

if RANK == 0:
    late(0)
    import uvloop
    uvloop.run(talk())
""")
