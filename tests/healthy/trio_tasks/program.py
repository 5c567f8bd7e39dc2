"""Rank 0 runs tasks in trio in bursts, and sleeps between them, while rank 1 waits in init."""
NEEDS = ["trio"]


def command(bench):
    return bench.train("""
async def task(channel):
    import trio
    for _ in range(10):
        await trio.to_thread.run_sync(work, 0.3)
        await trio.sleep(0.3)

async def tasks():
    async with trio.open_nursery() as nursery:
        for number in range(2): nursery.start_soon(task, number)

if RANK == 0:
    import trio
    trio.run(tasks)
    late()
""")
