"""Rank 0 builds an extension with a compiler of its own for some seconds, and waits for it."""
import shutil

from workbench import Impossible


def make(bench):
    if not shutil.which("g++"):
        raise Impossible("there is no g++")
    bench.script("#include <regex>\nint main() { return std::regex_match(\"a\", std::regex(\"a+\")); }\n", "part.cc")


def command(bench):
    return bench.train("""
import subprocess
if RANK == 0:
    late(0)
    end = time.monotonic() + 9
    while time.monotonic() < end: subprocess.run(["g++", "-O2", "-c", "part.cc", "-o", "part.o"], check=True)
""")
