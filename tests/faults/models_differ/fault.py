"""The ranks build models of different shapes."""
EXPECTED = ["ranks-disagree"]


def command(bench):
    return bench.torchrun(bench.job("model = torch.nn.Linear(4 + RANK, 2)\ntorch.nn.parallel.DistributedDataParallel(model)\n"))
