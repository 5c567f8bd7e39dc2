"""webdataset's pipes: rank 0 reads what a shell's `download | gzip -d` writes, two megabytes a second, while rank 1 waits in init."""

DOWNLOAD = """
import gzip, os, sys, time
part = gzip.compress(os.urandom(200000), 1)
for _ in range(140):
    sys.stdout.buffer.write(part)
    sys.stdout.flush()
    time.sleep(0.1)
"""


def command(bench):
    bench.script(DOWNLOAD, "download.py")
    return bench.train("""
import subprocess
if RANK == 0:
    late(0)
    size = 0
    with subprocess.Popen(f"{sys.executable} download.py | gzip -d", shell=True, stdout=subprocess.PIPE) as shard:
        while part := shard.stdout.read(65536): size += len(part)
    say(f"{size} bytes")
""")
