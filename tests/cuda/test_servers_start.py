"""A server of models whose workers make an NCCL communicator past torch, as vLLM's and SGLang's do: a hang there is healed.

Its workers have reduced over gloo before, so they count as through their first collective; only the server's answer ends its start.
"""

import over_doubles  # noqa: F401  it finds server_stand_in
import server_stand_in
from over_doubles import DEADLINES, PYTHON, CudaTest, free_port, main, wait_until

# By ctypes, as in vLLM 0.32: the unique id comes by gloo, and the first all_reduce warms up.
PYNCCL = """
import ctypes
import torch, torch.distributed as dist

class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]

class NCCLLibrary:
    def __init__(self):
        self.library = ctypes.CDLL("libnccl.so.2")
    def check(self, status):
        assert status == 0, "NCCL says %d" % status
    def ncclCommInitRank(self, world, unique_id, rank):
        communicator = ctypes.c_void_p()
        self.check(self.library.ncclCommInitRank(ctypes.byref(communicator), world, unique_id, rank))
        return communicator

class PyNcclCommunicator:
    def __init__(self, group, device):
        nccl, unique_id, rank = NCCLLibrary(), UniqueId(), dist.get_rank(group)
        if rank == 0:
            nccl.check(nccl.library.ncclGetUniqueId(ctypes.byref(unique_id)))
        told = torch.tensor(list(unique_id.internal), dtype=torch.int8)
        dist.broadcast(told, 0, group=group)
        for i, byte in enumerate(told.tolist()):
            unique_id.internal[i] = byte
        torch.cuda.set_device(device)
        communicator = nccl.ncclCommInitRank(dist.get_world_size(group), unique_id, rank)
        warm = torch.zeros(1, device="cuda")
        address, stream = ctypes.c_void_p(warm.data_ptr()), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        nccl.check(nccl.library.ncclAllReduce(address, address, ctypes.c_size_t(1), 7, 0, communicator, stream))
        torch.cuda.synchronize()
"""


class ServersStart(CudaTest):
    def test_broken_peer_to_peer_copies_in_a_communicator_past_torch_are_healed(self):
        program, packages = server_stand_in.make(self.folder, PYNCCL, PYTHON)
        meets = self.folder / "meets"
        environment = self.environment("p2p-hang", PYTHONPATH=str(packages), PYNCCL_MEETS=str(meets), ENGINE_PORT=str(free_port()))
        job = self.start(*DEADLINES, "--", program, "serve", "model", env=environment)
        wait_until(meets.with_suffix(".up").exists, what="the server")
        meets.with_suffix(".over").touch()
        run = self.finish(job)
        self.assert_status(run, 0)
        self.assertEqual([one["profile"] for one in run.attempts], ["basic", "no-p2p"], str(run))
        self.assertEqual(self.cause(run)["id"], "gpu-p2p", str(run))
        self.assertEqual([event["serves"] for event in run.events if event["e"] == "training"], [True])


if __name__ == "__main__":
    main()
