"""Bars that go back to the line's beginning, colours, a cursor that goes up, and no newline at the end."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    return bench.around(r'''
$SL python -c '
import sys
for i in range(50): sys.stdout.write(f"\r\x1b[K{i:3d}/50 [" + "#" * i + "]"); sys.stdout.flush()
sys.stdout.write("\n\x1b[31mred\x1b[0m\nup\n\x1b[1A\x1b[2Kover\rand no newline")
' | cat -v
echo
''')
