"""PYTHONPATH is empty, or ends with a colon; the working folder holds a module with the name of another."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    bench.script("""
import os, sys
print([os.path.basename(path) for path in sys.path if "hook-" not in path][:3], os.getcwd() in sys.path)
""")
    return bench.around(r'''
mkdir elsewhere
mv job.py elsewhere
echo 'raise SystemExit("the wrong module")' > colorsys.py
PYTHONPATH= $SL python elsewhere/job.py; echo $?
PYTHONPATH=/usr/share: $SL python elsewhere/job.py; echo $?
PYTHONPATH=: $SL python elsewhere/job.py; echo $?
$SL python elsewhere/job.py; echo $?
''')
