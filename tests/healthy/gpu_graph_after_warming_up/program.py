"""The step is warmed up on a side stream, captured, and replayed a thousand times, as torch's manual says."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
total, side = ones(), torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3): dist.all_reduce(total)
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    dist.all_reduce(total)
if RANK == 1: work(10)
for _ in range(1000): graph.replay()
torch.cuda.synchronize()
del graph
""")
