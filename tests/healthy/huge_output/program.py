"""Two ranks print twenty megabytes each, in whole lines."""
CUDA = "it has no torch"
QUICK = True


def command(bench):
    return bench.train("""
line = f"rank {RANK} " + "x" * 990 + "\\n"
for _ in range(20000): os.write(1, line.encode())
""", end="")
