"""A CUDA graph with an all-reduce in it gives true sums each time it is replayed, and what must not be captured fails."""

import os

import torch
import torch.distributed as dist

device = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(device)
dist.init_process_group("nccl")
x = torch.ones(4).cuda()
dist.all_reduce(x)
torch.cuda.synchronize()
x.fill_(1)

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x.add_(1)
    dist.all_reduce(x)
assert x.cpu().tolist() == [1.0] * 4, "a capture does nothing"
for wanted in 4.0, 10.0, 22.0:
    graph.replay()
    assert x.cpu().tolist() == [wanted] * 4, (x, wanted)

event, failed = torch.cuda.Event(), False
event.record()
try:
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        x.add_(1)
        event.query()
except torch.AcceleratorError as error:
    failed = "captur" in str(error)
assert failed, "a query of an event fails the capture"
dist.destroy_process_group()
print("graphs are true")
