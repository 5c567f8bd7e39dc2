"""A shell starts a Python, which starts a shell, six deep; each hands the status and the output on."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    bench.script("""
import subprocess, sys
depth = int(sys.argv[1])
print("down", depth, flush=True)
if depth == 0: sys.exit(11)
status = subprocess.run(["sh", "-c", f"{sys.executable} job.py {depth - 1}; exit $?"]).returncode
print("up", depth)
sys.exit(status)
""")
    return bench.around(r'''
$SL python job.py 6
echo $?
''')
