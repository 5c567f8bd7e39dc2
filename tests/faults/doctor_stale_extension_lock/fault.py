"""Known before any launch: a lock of torch's extensions that nobody holds any more."""
import os
import pathlib
import time

EXPECTED = ["extension-lock"]
VERB = "doctor"


def make(bench):
    lock = pathlib.Path(bench.folder, "extensions", "py311_cpu", "tiny", "lock")
    lock.parent.mkdir(parents=True)
    lock.touch()
    os.utime(lock, (time.time() - 3600, time.time() - 3600))
    bench.env["TORCH_EXTENSIONS_DIR"] = str(pathlib.Path(bench.folder, "extensions", "py311_cpu"))
