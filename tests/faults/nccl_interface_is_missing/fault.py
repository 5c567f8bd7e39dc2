"""NCCL_SOCKET_IFNAME names an interface that is not there."""
EXPECTED = ["ifname-missing"]
HEALED_BY = "loopback"
OPTIONS = ["--profile", "basic,conservative,loopback"]


def make(bench):
    bench.doubles()
    bench.env["NCCL_SOCKET_IFNAME"] = "eth77"


def command(bench):
    return bench.nccl_worker()
