"""The first collective is captured in a graph, where nothing runs; the graph is replayed after rank 1's work."""
from workbench import ON_GPUS

CUDA = True


def command(bench):
    return bench.on_gpus("""
dist.init_process_group(BACKEND, device_id=torch.device("cuda", torch.cuda.current_device()))
total = ones()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    dist.all_reduce(total)
if RANK == 1: work(10)
for _ in range(3): graph.replay()
torch.cuda.synchronize()
del graph
""", begin=ON_GPUS)
