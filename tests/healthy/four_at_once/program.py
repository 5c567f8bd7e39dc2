"""xargs starts four launches at once, each with its own words and status."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    return bench.around(r'''
seq 4 | xargs -P4 -I N $SL sh -c 'echo launch N; exit N' 2>/dev/null
echo $?
seq 3 | while read -r number; do $SL sh -c "cat >/dev/null; echo got $number" </dev/null; done
''')
