"""Known before any launch: /dev/shm has 64 MiB, Docker's default."""
EXPECTED = ["shm-small"]
VERB = "doctor"


def make(bench):
    bench.small_shm("64m")
