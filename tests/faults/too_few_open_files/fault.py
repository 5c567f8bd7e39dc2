"""The limit on open files is too low for the job."""
import resource

EXPECTED = ["open-files"]


def make(bench):
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))


def command(bench):
    return bench.torchrun(bench.job("files = [open('/dev/null') for _ in range(1000)]\ndist.all_reduce(torch.ones(1))\n"))
