"""A program makes its stdout non-blocking, as asyncio does, and writes three megabytes."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    bench.script("""
import asyncio, sys
async def main():
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    transport.set_write_buffer_limits(0)
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    for _ in range(3000):
        writer.write(b"z" * 999 + b"\\n")
        await writer.drain()
asyncio.run(main())
""")
    return bench.around(r'''
$SL python job.py | md5sum
''')
