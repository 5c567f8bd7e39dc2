"""The working folder is removed before the launch."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    bench.script("""
import os
try: print(os.getcwd())
except OSError as error: print(type(error).__name__)
""")
    return bench.around(r'''
here=$PWD
mkdir gone
cd gone
rmdir "$here/gone"
$SL python "$here/job.py"
echo $?
$SL sh -c 'echo ok'
echo $?
''')
