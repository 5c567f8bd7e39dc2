"""Two hundred states of a bar on stderr while lines go to stdout; the last line has no newline."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    return bench.around(r'''
$SL python -c '
import sys
for i in range(200):
    sys.stderr.write(f"\rstate {i}")
    if i % 50 == 0: print("line", i, flush=True)
sys.stderr.write("\n")
print("end", end="")
' 2>bar
echo
tr '\r' '\n' < bar | md5sum
''')
