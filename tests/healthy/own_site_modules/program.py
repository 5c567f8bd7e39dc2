"""The user has a sitecustomize and a usercustomize of their own."""
CUDA = "it has no torch"
QUICK = True


def command(bench):
    bench.script("print('our site', flush=True)\n", "sitecustomize.py")
    bench.script("print('our user', flush=True)\n", "usercustomize.py")
    bench.env["PYTHONPATH"] = str(bench.folder)
    return ["python3", bench.script("import sys\nprint('the program', len(sys.argv))\n")]
