"""A regular expression of rank 0 holds the GIL for many seconds: no thread of its process can answer."""


def command(bench):
    return bench.train("""
import re
if RANK == 0:
    length = 18
    while True:
        began = time.monotonic()
        re.match(r"(a+)+$", "a" * length + "b")
        if time.monotonic() - began > 5: break
        length += 1
""")
