"""A rank reads its data through a memory map: no call reads a byte."""


def command(bench):
    return bench.train("""
import mmap
if RANK == 1:
    late(0)
    with open("data", "wb") as file: file.truncate(1 << 26)
    with open("data", "r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        end, total = time.monotonic() + 9, 0
        while time.monotonic() < end:
            for at in range(0, len(data), 4096): total += data[at]
    say(f"{total} in sum")
""")
