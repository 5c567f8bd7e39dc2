"""A shell becomes a Python, which becomes a shell, which becomes a Python: one process all the way."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    bench.script("""
import os
os.execvp("bash", ["bash", "-c", "exec -a another python two.py"])
""", "one.py")
    bench.script("""
import os, sys
print(os.getpid() == int(open("first").read()))
sys.exit(8)
""", "two.py")
    return bench.around(r'''
$SL sh -c 'echo $$ > first; exec python one.py'
echo $?
''')
