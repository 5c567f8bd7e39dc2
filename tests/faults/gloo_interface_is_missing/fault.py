"""GLOO_SOCKET_IFNAME names an interface that is not there."""
from workbench import DDP

EXPECTED = ["ifname-missing"]
HEALED_BY = "loopback"
OPTIONS = ["--profile", "basic,loopback"]


def command(bench):
    bench.env["GLOO_SOCKET_IFNAME"] = "eth77"
    return bench.torchrun(DDP, "--steps", "5")
