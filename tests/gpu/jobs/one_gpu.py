"""Lets several NCCL ranks share one GPU: import it before torch.

NCCL refuses two ranks of one host on one GPU. With a host id of its own each rank counts as a host, and all traffic
goes through sockets: slow, but it is the real NCCL with its real kernels. Those of all ranks must be resident at once,
or they wait for each other for ever: hence few of them.
"""

import os

if "NCCL_HOSTID" not in os.environ and os.environ.get("SHARE_GPU", "1") == "1":
    os.environ["NCCL_HOSTID"] = f"host-of-rank-{os.environ.get('RANK', '0')}"
    os.environ["LOCAL_RANK"] = "0"  # the number of its GPU, for DeepSpeed and others
    os.environ.setdefault("NCCL_NET", "Socket")
    os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
    os.environ.setdefault("NCCL_MNNVL_ENABLE", "0")
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    os.environ.setdefault("NCCL_MAX_CTAS", "2")
