"""stdout and stderr go to the same file: the order of its lines is the log."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    bench.script("""
import sys
for i in range(3000):
    print("out", i, flush=True)
    print("err", i, file=sys.stderr, flush=True)
""")
    return bench.around(r'''
$SL python -u job.py > both.log 2>&1
echo $?
md5sum < both.log
''')
