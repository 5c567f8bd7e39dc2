"""exec > >(…): the log goes through a program that is behind, and ends only when it has read all."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    return bench.around(r'''
$SL bash -c 'exec > >(sleep 3; cat > log); echo important; seq 1000'
until [ "$(wc -l < log)" = 1001 ]; do sleep 0.1; done 2>/dev/null
tail -1 log
''')
