"""The first collective is captured in a graph, where nothing runs; the graph is replayed after rank 1's work."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
total = ones()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    dist.all_reduce(total)
if RANK == 1: work(10)
for _ in range(3): graph.replay()
torch.cuda.synchronize()
""")
