"""An all_reduce captured into a CUDA graph, as the job's very first collective, and replayed."""

import one_gpu  # noqa: F401  (before torch)
import torch
import torch.distributed as dist

dist.init_process_group("nccl", device_id=torch.device("cuda", 0))
tensor = torch.ones(1024, device="cuda")
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    dist.all_reduce(tensor)
for _ in range(3):
    graph.replay()
torch.cuda.synchronize()
assert tensor[0].item() == dist.get_world_size() ** 3, tensor[0]
if dist.get_rank() == 0:
    print("captured and replayed", flush=True)
dist.barrier()
del graph  # NCCL's communicator waits for it for ever (pytorch/pytorch#115388)
dist.destroy_process_group()
