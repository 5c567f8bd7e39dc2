"""The values that decide what a program does next are the same on the device as on the host."""

import torch

CASES = {
    "full": lambda d: torch.full((5,), 2.5, device=d, dtype=torch.bfloat16),
    "arange": lambda d: torch.arange(3, 20, 2, device=d),
    "arange of half": lambda d: torch.arange(6, device=d, dtype=torch.half),
    "add": lambda d: real(d).add(real(d), alpha=0.5),
    "subtract from a number": lambda d: 1 - real(d),
    "multiply": lambda d: whole(d) * whole(d) * 3,
    "divide": lambda d: real(d) / 4,
    "cast": lambda d: whole(d).float(),
    "cast to half": lambda d: real(d).half(),
    "transpose": lambda d: matrix(d).t().contiguous(),
    "broadcast": lambda d: matrix(d) + torch.arange(33, device=d).float(),
    "compare": lambda d: whole(d) != 2,
    "is finite": lambda d: torch.isfinite(real(d)),
    "is finite, of half": lambda d: torch.isfinite(real(d).half()),
    "sum": lambda d: matrix(d).sum(),
    "sum of rows": lambda d: matrix(d).sum(1),
    "sum of columns": lambda d: matrix(d).sum(0),
    "sum of truths": lambda d: (whole(d) > 0).sum(),
    "most": lambda d: whole(d).max(),
    "least of short numbers": lambda d: whole(d).short().min(),
    "any": lambda d: (whole(d) > 2).any(),
    "all": lambda d: (whole(d) > 2).all(),
    "mean": lambda d: matrix(d).mean(1),
    "norm": lambda d: torch.linalg.vector_norm(matrix(d)),
    "put together": lambda d: torch.cat([matrix(d), matrix(d)], 1),
    "equal": lambda d: torch.tensor(torch.equal(whole(d), whole(d) + 1)),
    "find": lambda d: (whole(d) > 1).nonzero(),
}


def real(device):
    return torch.tensor([1.0, -2.0, 3.0, float("inf")]).to(device)


def whole(device):
    return torch.tensor([1, 2, 3, -7]).to(device)


def matrix(device):
    return torch.arange(64 * 33).reshape(64, 33).remainder(7).float().cpu().to(device)


for name, case in CASES.items():
    there, here = case("cuda").cpu(), case("cpu")
    assert there.dtype == here.dtype and torch.allclose(there.float(), here.float()), (name, there, here)
print("all values are true")
