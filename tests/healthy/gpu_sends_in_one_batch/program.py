"""A pipeline of three stages sends and receives in batches (batch_isend_irecv), and each stage works for long."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
given, taken = ones(), ones()
if RANK > 0:
    for request in dist.batch_isend_irecv([dist.P2POp(dist.irecv, taken, RANK - 1)]): request.wait()
    torch.cuda.synchronize()
if RANK < WORLD - 1:
    work(9)
    for request in dist.batch_isend_irecv([dist.P2POp(dist.isend, given, RANK + 1)]): request.wait()
""", ranks=3)
