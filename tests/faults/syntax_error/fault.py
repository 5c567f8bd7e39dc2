"""The script does not compile."""
EXPECTED = ["user-exception"]


def command(bench):
    return bench.torchrun(bench.script("def f(:\n  pass\n"))
