"""vLLM's way (PyNccl): torch has gloo alone, and the rank makes NCCL's communicator itself by ctypes. Rank 1 is late for its collective."""
from workbench import ON_GPUS

CUDA = True


def command(bench):
    return bench.on_gpus("""
dist.init_process_group("gloo")
class Unique(ctypes.Structure): _fields_ = [("bytes", ctypes.c_byte * 128)]
nccl = ctypes.CDLL("libnccl.so.2")
def succeeds(status): assert status == 0, status
def communicator(rank, world):
    unique = Unique()
    if rank == 0: succeeds(nccl.ncclGetUniqueId(ctypes.byref(unique)))
    told = torch.frombuffer(bytearray(unique), dtype=torch.uint8)
    dist.broadcast(told, 0)
    made = ctypes.c_void_p()
    succeeds(nccl.ncclCommInitRank(ctypes.byref(made), world, Unique.from_buffer_copy(bytes(told.tolist())), rank))
    return made
def add_up(total, made):
    where = ctypes.c_void_p(total.data_ptr())
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    succeeds(nccl.ncclAllReduce(where, where, ctypes.c_size_t(1), 7, 0, made, stream))
    return int(total)
made = communicator(RANK, WORLD)
if RANK == 1: work(10)
say(f"rank {RANK}: {add_up(ones(), made)}")
dist.barrier()
dist.destroy_process_group()
""", begin=ON_GPUS, end="")
