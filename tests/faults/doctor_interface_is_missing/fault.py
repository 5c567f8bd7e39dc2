"""Known before any launch: NCCL_SOCKET_IFNAME names no interface of this host."""
EXPECTED = ["ifname-missing"]
VERB = "doctor"


def make(bench):
    bench.env["NCCL_SOCKET_IFNAME"] = "eth77"
