"""Three hundred processes are orphaned, one after the other, quickly."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    bench.script("""
import os
for _ in range(300):
    child = os.fork()
    if child == 0:
        os.fork()
        os._exit(0)
    os.waitpid(child, 0)
print("done")
""")
    return bench.around(r'''
$SL python job.py
echo $?
''')
