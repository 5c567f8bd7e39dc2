"""Two ranks over real ProcessGroupNCCL: every collective gives what it should."""

import os

import torch
import torch.distributed as dist

rank, device = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(device)
dist.init_process_group("nccl")


def tensor(*values):
    return torch.tensor(values).cuda()


def same(got, *wanted):
    assert got.cpu().tolist() == list(wanted), (rank, got, wanted)


x = tensor(rank + 1, 5)
dist.all_reduce(x)
same(x, 3, 10)
x = tensor(rank + 1.0, 5.0)
dist.all_reduce(x, op=dist.ReduceOp.AVG)
same(x, 1.5, 5.0)
x = tensor(rank + 1.0)
dist.all_reduce(x, op=dist._make_nccl_premul_sum(2.0))
same(x, 6.0)
x = tensor(rank + 7)
dist.broadcast(x, 1)
same(x, 8)
all_of_them = torch.zeros(4, dtype=torch.long).cuda()
dist.all_gather_into_tensor(all_of_them, tensor(rank, rank + 10))
same(all_of_them, 0, 10, 1, 11)
part = torch.zeros(1, dtype=torch.long).cuda()
dist.reduce_scatter_tensor(part, tensor(rank, rank + 10))
same(part, (1, 21)[rank])
exchanged = torch.zeros(2, dtype=torch.long).cuda()
dist.all_to_all_single(exchanged, tensor(rank * 2, rank * 2 + 1))
same(exchanged, rank, rank + 2)
gathered = [torch.zeros(1, dtype=torch.long).cuda() for _ in range(2)] if rank == 0 else None
dist.gather(tensor(rank), gathered, 0)
if rank == 0:
    same(torch.cat(gathered), 0, 1)
objects = [{"rank": rank}, rank] if rank == 0 else [None, None]
dist.broadcast_object_list(objects, 0)
assert objects == [{"rank": 0}, 0], objects
everyone = [None, None]
dist.all_gather_object(everyone, "x" * (rank + 1))
assert everyone == ["x", "xx"], everyone
other = tensor(rank)
dist.send(other, 1) if rank == 0 else dist.recv(other, 0)
same(other, 0)
dist.barrier()
dist.destroy_process_group()
print("all collectives are true")
