"""A worker whose first line is to note the time."""
import os, time  # noqa: E401  one line, since this is the first one
with open(os.environ["STAMPS"] + "/rank-" + os.environ["RANK"], "w") as file:
    file.write(str(time.monotonic_ns()))
