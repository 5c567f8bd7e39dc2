"""Twenty megabytes go to a reader that takes one each 50 ms."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    bench.script("""
import hashlib, sys, time
seen, size = hashlib.md5(), 0
while piece := sys.stdin.buffer.read(1 << 20):
    seen.update(piece)
    size += len(piece)
    time.sleep(0.05)
print(size, seen.hexdigest())
""", "slow.py")
    return bench.around(r'''
$SL python -c 'import sys; [sys.stdout.buffer.write(b"y" * 1_000_000) for _ in range(20)]' | python slow.py
''')
