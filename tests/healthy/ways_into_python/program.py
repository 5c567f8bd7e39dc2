"""A script on stdin, commands at -i, a folder with __main__, optimised, traced, with a debugging malloc."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    return bench.around(r'''
echo 'import sys; print("from stdin", __name__); sys.exit(2)' | $SL python; echo $?
echo 'raise SystemExit(3)' | $SL python -; echo $?
printf 'print(6 * 7)\nexit()\n' | $SL python -i -q -c pass 2>/dev/null; echo $?
mkdir folder
echo 'print(__spec__.name, __debug__)' > folder/__main__.py
$SL python folder; echo $?
$SL python -OO folder; echo $?
$SL python -X frozen_modules=off -X tracemalloc=2 folder; echo $?
PYTHONMALLOC=debug PYTHONNODEBUGRANGES=1 $SL python folder; echo $?
$SL python - one two <<'EOF'
import sys
print("here", sys.argv[1:])
EOF
echo $?
''')
