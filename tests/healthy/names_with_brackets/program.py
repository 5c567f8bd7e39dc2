"""The ranks' names in /proc hold brackets, a state's letter and a newline."""


def command(bench):
    return bench.train("""
with open("/proc/self/comm", "w") as file: file.write(") T 1 1 (x" if RANK else "a) Z 0\\n(")
if RANK == 1: late()
""")
