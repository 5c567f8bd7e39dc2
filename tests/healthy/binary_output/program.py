"""The output holds NULs, lone carriage returns, bytes that are no UTF-8, a line of 3 MB, and ends without a newline."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    bench.script("""
import os
data = bytes(range(256)) * 50 + b"\\r\\x1b[2K\\xff\\xfe" + b"x" * 3_000_000 + b"\\r\\n\\0\\0end"
for descriptor in (1, 2):
    rest = memoryview(data)
    while rest: rest = rest[os.write(descriptor, rest):]
""")
    return bench.around(r'''
$SL python job.py | md5sum
$SL python job.py 2>&1 >/dev/null | md5sum
echo ${PIPESTATUS[0]}
''')
