"""Rank 0 asks a store of its own with short timeouts, and catches them, for longer than the deadlines."""


def command(bench):
    return bench.train("""
if RANK == 0:
    import torch.distributed as dist
    from datetime import timedelta
    store = dist.TCPStore("127.0.0.1", 0, 1, True, timeout=timedelta(seconds=2))
    late(0)
    for _ in range(12):
        try: store.wait(["never"], timedelta(seconds=1))
        except Exception: work(0.2)
    say("gave up")
""")
