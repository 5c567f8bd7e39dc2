"""A tracer puts its own sitecustomize in front and runs the next one, as ddtrace-run does; the user has one too."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    bench.script("""
import os, sys
boot = os.path.join(os.getcwd(), "boot")
with open(os.path.join(boot, "sitecustomize.py"), "w") as file:
    file.write('''
import importlib.machinery, importlib.util, os, sys
print("the tracer s")
here = os.path.dirname(__file__)
spec = importlib.machinery.PathFinder.find_spec("sitecustomize", [path for path in sys.path if path != here])
if spec:
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
''')
os.environ["PYTHONPATH"] = os.pathsep.join([boot, os.environ.get("PYTHONPATH", "")])
os.execvp(sys.argv[1], sys.argv[1:])
""", "trace.py")
    return bench.around(r'''
mkdir boot user
echo 'import subprocess, sys; subprocess.run([sys.executable, "-c", "print(1)"])' > child.py
echo 'print("the user s")' > user/sitecustomize.py
PYTHONPATH=$PWD/user $SL python trace.py python -c 'print("main")'; echo $?
PYTHONPATH=$PWD/user $SL sh -c 'python trace.py python child.py'; echo $?
''')
