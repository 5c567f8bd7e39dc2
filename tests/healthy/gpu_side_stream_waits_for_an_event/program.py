"""The first collective stands on a stream of its own, which waits for an event behind the work of the main one."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
side, ready, total = torch.cuda.Stream(), torch.cuda.Event(), ones()
busy(5)
ready.record()
with torch.cuda.stream(side):
    side.wait_event(ready)
    dist.all_reduce(total)
torch.cuda.current_stream().wait_stream(side)
if RANK == 1: work(10)
""")
