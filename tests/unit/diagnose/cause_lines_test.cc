// Lines as programs wrote them, and the cause that each shows. Every alternative of every pattern
// of the catalogue is met by one of them at least.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "catch.h"
#include "evidence_of.h"
#include "safelaunch/base/format.h"
#include "safelaunch/diagnose/explain.h"

using namespace safelaunch;

using namespace safelaunch::diagnose;
using namespace safelaunch::testing;

namespace {

struct CauseLine {
  const char* cause;
  const char* line;
};

constexpr CauseLine kProofs[] = {
    {"port-taken",
     "RuntimeError: The server socket has failed to listen on any local network address. The "
     "server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use)."},
    {"port-taken",
     "ConnectionError: Tried to launch distributed communication on port `29500`, but another "
     "process is utilizing it."},
    {"name-resolution",
     "[W socket.cpp:464] [c10d] The IPv6 network addresses of (node-1, 29500) cannot be "
     "retrieved (gai error: -2 - Name or service not known)."},
    {"name-resolution",
     "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:144] no error, "
     "remote=[127.0.1.1]:5123"},
    {"connect-failed", "socketStartConnect: Connect to 10.0.0.7<41235> failed : No route to host"},
    {"connect-failed",
     "[W socket.cpp:601] [c10d] The client socket has failed to connect to [host]:29500 (errno: "
     "110 - Connection timed out)."},
    {"store-timeout",
     "torch.distributed.DistBackendError: [3] is setting up NCCL communicator and retrieving "
     "ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: "
     "Socket Timeout"},
    {"peer-lost",
     "torch.distributed.DistBackendError: [3] is setting up NCCL communicator and retrieving "
     "ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: "
     "Connection reset by peer"},
    {"peer-lost",
     "ValueError: TP rank 0 could finish the model loading, but there are other ranks that didn't "
     "finish loading. It is likely due to unexpected failures (e.g., OOM) or a slow node."},
    {"peer-lost",
     "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting "
     "prematurely. Socket recv failed while polling"},
    {"store-timeout",
     "Timed out initializing process group in store based barrier on rank: 0, for key: "
     "store_based_barrier_key:1 (world_size=2, num_workers_joined=1"},
    {"world-joined-twice",
     "Waiting in store based barrier to initialize process group for rank: 3, key: "
     "store_based_barrier_key:1 (world_size=4, worker_count=8, timeout=0:30:00)"},
    {"rendezvous-closed", "torch.distributed.elastic.rendezvous.api.RendezvousClosedError"},
    {"hostfile",
     "RuntimeError: Using hostfile at /job/hostfile but host=worker-1 was not reachable via "
     "ssh."},
    {"elastic-summary", "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "},
    {"stopped-by-launcher",
     "[WARNING] Unable to shutdown process 4711 via Signals.SIGTERM, forcefully exiting via "
     "Signals.SIGKILL"},
    {"slurm-half", "KeyError: 'SLURM_STEP_NODELIST'"},
    {"duplicate-gpu", "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 10000"},
    {"device-ordinal", "RuntimeError: CUDA error: invalid device ordinal"},
    {"device-ordinal", "ValueError: No slot '1' specified on host 'localhost'"},
    {"ranks-disagree",
     "RuntimeError: DDP expects same model across all ranks, but Rank 1 has 160 params, while "
     "rank 0 has inconsistent 0 params."},
    {"message-truncated",
     "vm:1:1 [0] misc/socket.cc:55 NCCL WARN Message truncated : received 144 bytes instead of "
     "128"},
    {"script-missing",
     "/usr/bin/python3: can't open file '/home/user/trian.py': [Errno 2] No such file or "
     "directory"},
    {"bad-arguments", "train.py: error: unrecognized arguments: --master_port=29501"},
    {"gpu-oom", "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"},
    {"gpu-oom-in-nccl", "vm:1:1 [0] alloc.h:100 NCCL WARN Cuda failure 2 'out of memory'"},
    {"host-oom",
     "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 0 "
     "(pid: 290) of binary: /usr/bin/python"},
    {"open-files", "OSError: [Errno 24] Too many open files"},
    {"shm-small",
     "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Bus error. It is possible "
     "that dataloader's workers are out of shared memory."},
    {"shm-small",
     "vm:1:1 [0] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on "
     "device"},
    {"shm-attach",
     "vm:1:1 [0] misc/shmutils.cc:132 NCCL WARN Error while attaching to shared memory segment "
     "/dev/shm/nccl-AbCdEf (size 9637888)"},
    {"cumem-host-broken",
     "vm:1:1 [0] misc/shmutils.cc:132 NCCL WARN Error while creating shared memory segment "
     "/dev/shm/nccl-AbCdEf (size 0)"},
    {"cumem-uds",
     "vm:1:1 [0] misc/ipcsocket.cc:67 NCCL WARN UDS: Binding to socket /tmp/nccl-socket failed"},
    {"uds-namespaces",
     "vm:1:1 [0] misc/ipcsocket.cc:197 NCCL WARN UDS: Sending data over socket "
     "/tmp/nccl-socket-0 failed : Connection refused (111)"},
    {"no-gpu", "RuntimeError: No CUDA GPUs are available"},
    {"container-lost-gpus", "Failed to initialize NVML: Unknown Error"},
    {"gpu-p2p",
     "vm:1:1 [0] graph/paths.cc:356 NCCL WARN P2P is disabled between NVLINK connected GPUs 1 "
     "and 0"},
    {"gpu-p2p",
     "vm:1:1 [0] transport/p2p.cc:275 (ncclP2pImportShareableBuffer) NCCL WARN Cuda failure "
     "'peer mapping resources exhausted'"},
    {"wsl-topology",
     "vm:1:1 [0] graph/xml.cc:332 NCCL WARN Could not find real path of "
     "/sys/class/pci_bus/0000:01/../../0000:01:00.0"},
    {"nvls-bind",
     "vm:1:1 [0] transport/nvls.cc:285 NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast "
     "memory of size 2097152 : CUDA error 1 'invalid argument'."},
    {"nvls-bind",
     "vm:1:1 [0] transport/nvls.cc:170 NCCL WARN Cuda failure 401 'the operation cannot be "
     "performed in the present state'"},
    {"fabric-manager", "RuntimeError: CUDA error: system not yet initialized"},
    {"driver-mismatch", "Failed to initialize NVML: Driver/library version mismatch"},
    {"driver-old",
     "vm:1:1 [0] init.cc:1 NCCL WARN Cuda failure 'CUDA driver version is insufficient for CUDA "
     "runtime version'"},
    {"gpu-ill", "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus."},
    {"gpu-exclusive", "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable"},
    {"cuda-unknown",
     "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment"},
    {"mnnvl",
     "vm:1:1 [0] init.cc:700 NCCL WARN MNNVL (cliqueSize 8) is available but not working on this "
     "system. Check the IMEX configuration"},
    {"cuda-failure", "vm:1:1 [0] enqueue.cc:1 NCCL WARN Cuda failure 'invalid argument'"},
    {"no-transport",
     "vm:1:1 [0] transport.cc:34 NCCL WARN No transport found for rank 0[10000] -> rank "
     "1[20000]"},
    {"ifname-missing",
     "vm:1:1 [0] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found"},
    {"ib-peer",
     "vm:1:1 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer "
     "10.0.0.7<41235> with error 12, opcode 0, len 0, vendor err 129"},
    {"ib-peer",
     "vm:1:1 [0] misc/ibvwrap.cc:106 NCCL WARN Call to ibv_modify_qp failed with error "
     "Connection timed out"},
    {"ib-memlock",
     "vm:1:1 [0] misc/ibvwrap.cc:252 NCCL WARN Call to ibv_reg_mr failed with error Cannot "
     "allocate memory"},
    {"efa",
     "vm:1:1 [0] NET/OFI nccl_net_ofi_init:1123 NCCL WARN NET/OFI Could not find any optimal "
     "provider supporting GPUDirect RDMA"},
    {"nccl-mismatch",
     "vm:1:1 [0] init.cc:1 NCCL WARN Mismatched NCCL version detected : rank 0 version 22907 "
     "rank 1 version 22707"},
    {"nccl-two-libraries", "ImportError: libtorch_cuda.so: undefined symbol: ncclCommRegister"},
    {"nccl-unhandled",
     "torch.distributed.DistBackendError: NCCL error in: "
     "../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1691, unhandled system error (run with "
     "NCCL_DEBUG=INFO for details), NCCL version 2.19.3"},
    {"watchdog-timeout",
     "[E ProcessGroupNCCL.cpp:474] [Rank 1] Watchdog caught collective operation timeout: "
     "WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for "
     "600009 milliseconds before timing out."},
    {"watchdog-stuck",
     "[F ProcessGroupNCCL.cpp:1185] [PG 0 Rank 3] ProcessGroupNCCL's watchdog got stuck for 480 "
     "seconds without making progress in monitoring enqueued collectives."},
    {"graph-capture", "RuntimeError: CUDA error: operation not permitted when stream is capturing"},
    {"jax-barrier",
     "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: "
     "PjRT_Client_Connect::0. This usually happens because a task triggered the barrier "
     "unexpectedly early"},
    {"jax-peer-lost",
     "UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):"},
    {"jax-port-taken",
     "E0101 server_chttp2.cc:40] {\"description\":\"No address added out of total 1 resolved\"}: "
     "Failed to add port to server: Address already in use"},
    {"jax-config", "ValueError: Number of processes must be defined."},
    {"xla-clique",
     "E0101 rendezvous.cc:31] This thread has been waiting for `first call` for 60 seconds and "
     "may be stuck. Expected 8 threads to join the rendezvous"},
    {"file-exchange",
     "vm:1:1 [0] misc/shmutils.cc:1 NCCL WARN unlink shared memory /dev/shm/nccl-AbCdEf failed, "
     "error: No such file or directory"},
    {"port-taken", "RuntimeError: [Errno 98] EADDRINUSE"},
    {"port-taken", "ERROR: Port `29500` is already in use."},
    {"server-port-taken",
     "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): "
     "[errno 98] address already in use"},
    {"own-port-taken", "OSError: [Errno 98] Address already in use"},
    {"own-port-taken", "zmq.error.ZMQError: Address already in use (addr='tcp://127.0.0.1:5555')"},
    {"name-resolution", "socket.gaierror: [Errno -3] Temporary failure in name resolution"},
    {"name-resolution", "RuntimeError: getaddrinfo failed for node-7"},
    {"web-unreachable",
     "requests.exceptions.ConnectionError: (MaxRetryError(\"HTTPSConnectionPool(host="
     "'huggingface.co', port=443): Max retries exceeded with url: /api/models/gpt2 (Caused by "
     "NewConnectionError('<urllib3.connection.HTTPSConnection object at 0x7f>: Failed to establish "
     "a new connection: [Errno 101] Network is unreachable'))\"), '(Request ID: 7)')"},
    {"web-unreachable",
     "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>"},
    {"web-unreachable",
     "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't "
     "find them in the cached files."},
    {"web-unreachable", "httpx.ConnectError: [Errno 111] Connection refused"},
    {"connect-failed",
     "vm:1:1 [0] misc/socket.cc:568 NCCL WARN socketPollConnect: connect to 10.0.0.7<41235> "
     "returned Connection refused, exceeded error retry count (34)"},
    {"store-timeout",
     "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 "
     "clients joined."},
    {"world-joined-twice",
     "Waiting in store based barrier to initialize process group for rank: 1, key: "
     "store_based_barrier_key:1 (world_size=2, num_workers_joined=3, timeout=0:30:00)"},
    {"rendezvous-closed",
     "The node 'a_1_0' has failed to send a keep-alive heartbeat to the rendezvous 'none' due to "
     "an error of type RendezvousTimeoutError."},
    {"rendezvous-closed", "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError"},
    {"hostfile", "ValueError: Hostfile contains multiple entries for worker-1"},
    {"hostfile", "ValueError: Hostfile is empty"},
    {"library-missing",
     "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory"},
    {"watchdog-stuck",
     "[rank0]:[E ProcessGroupNCCL.cpp:1500] [PG ID 0 PG GUID 0 Rank 0] Heartbeat monitor timed "
     "out! Process will be terminated after dumping debug info. workMetaList_.size()=3"},
    {"peer-lost",
     "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting "
     "prematurely."},
    {"elastic-summary", "Root Cause (first observed failure):"},
    {"stopped-by-launcher", "Sending process 4711 closing signal SIGTERM"},
    {"stopped-by-launcher", "Terminating process 4711 via signal SIGTERM"},
    {"world-size-mismatch",
     "vm:1:1 [0] bootstrap.cc:309 NCCL WARN Bootstrap Root : mismatch in rank count from procs 2 : "
     "3"},
    {"duplicate-rank",
     "vm:1:1 [0] bootstrap.cc:315 NCCL WARN Bootstrap Root : rank 1 of 2 ranks has already checked "
     "in"},
    {"duplicate-gpu",
     "vm:1:1 [0] init.cc:900 NCCL WARN Multiple Ranks are using the same GPU/Partition: rank 0 and "
     "rank 1"},
    {"device-ordinal", "RuntimeError: nproc_per_node 8 is greater than the number of GPUs 4"},
    {"ranks-disagree", "RuntimeError: Mismatched collective: rank 0 calls all_reduce"},
    {"ranks-disagree",
     "  what():  [enforce fail at gloo/transport/tcp/pair.cc:456] op.preamble.length <= op.nbytes. "
     "8 "
     "vs 4. Received data size doesn't match expected size."},
    {"ranks-disagree",
     "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: "
     "CollectiveFingerPrint(SequenceNumber=5, OpType=ALLREDUCE"},
    {"gpu-oom", "RuntimeError: CUDA error: out of memory"},
    {"gpu-oom", "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB"},
    {"gpu-oom",
     "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
     "allocate 17179869184 bytes."},
    {"gpu-oom-in-nccl",
     "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: NCCL operation ncclCommInitRank(&comm, 2, "
     "id, 0) failed: out of memory"},
    {"gpu-held",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
     "capacity of 79.10 GiB of which 1.10 GiB is free. Process 4711 has 70.00 GiB memory in use."},
    {"gpu-held",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total "
     "capacity of 139.80 GiB of which 1.05 GiB is free. Process 2455 has 136.79 GiB memory in use. "
     "Including non-PyTorch memory, this process has 982.00 MiB memory in use."},
    {"host-oom", "rank 3 was killed by SIGKILL"},
    {"host-oom",
     "[17.1] Out of memory: Killed process 4711 (python) total-vm:9kB, anon-rss:8kB, file-rss:0kB"},
    {"host-oom", "[17.0] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a"},
    {"host-oom", "[17.0]  oom_kill_process.cold+0xb/0x10"},
    {"open-files", "RuntimeError: received 0 items of ancdata"},
    {"shm-small", "worker 3 was killed by SIGBUS"},
    {"world-variables",
     "ValueError: Error initializing torch.distributed using env:// rendezvous: environment "
     "variable RANK expected, but not set"},
    {"world-variables", "KeyError: 'LOCAL_RANK'"},
    {"module-missing", "ModuleNotFoundError: No module named 'torch'"},
    {"module-missing", "ImportError: No module named apex"},
    {"packages-quarrel",
     "ImportError: cannot import name 'Json' from 'datasets.features' "
     "(/venv/lib/python3.11/site-packages/datasets/features/__init__.py)"},
    {"group-not-initialized",
     "ValueError: Default process group has not been initialized, please make sure to call "
     "init_process_group."},
    {"device-assert", "RuntimeError: CUDA error: device-side assert triggered"},
    {"device-assert",
     "node-1:4711:4790 [0] NCCL WARN Cuda failure 710 'device-side assert triggered'"},
    {"illegal-address",
     "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal "
     "memory "
     "access was encountered"},
    {"illegal-address",
     "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"},
    {"illegal-address",
     "  what():  [Rank 1] Process group watchdog thread terminated with exception: CUDA error: an "
     "illegal memory access was encountered"},
    {"disk-full", "OSError: [Errno 28] No space left on device"},
    {"disk-full", "OSError: [Errno 122] Disk quota exceeded: '/home/u/checkpoint'"},
    {"disk-full", "RuntimeError: write(): fd 3 failed with No space left on device"},
    {"save-failed",
     "RuntimeError: [enforce fail at inline_container.cc:672] . unexpected pos 576 vs 534"},
    {"save-failed",
     "RuntimeError: [enforce fail at inline_container.cc:783] . PytorchStreamWriter failed writing "
     "file data/0: file write failed"},
    {"shm-data-loader",
     "RuntimeError: unable to mmap 8192 bytes from file </torch_7_1_0>: Cannot allocate memory"},
    {"shm-attach",
     "vm:1:1 [0] misc/shmutils.cc:60 NCCL WARN Call to open failed: No such file or directory"},
    {"nccl-not-built",
     "ValueError: device_id is an int, but no accelerator support is found from the current "
     "compilation."},
    {"no-gpu", "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'"},
    {"no-gpu", "ValueError: no GPU resources available"},
    {"no-gpu", "ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!"},
    {"no-gpu", "RuntimeError: CUDA error: no CUDA-capable device is detected"},
    {"no-gpu", "RuntimeError: Found no NVIDIA driver on your system."},
    {"no-gpu", "AssertionError: Torch not compiled with CUDA enabled"},
    {"gpu-p2p", "vm:1:1 [0] transport/p2p.cc:40 NCCL WARN failed to peer with device 1(=3b000)"},
    {"gpu-p2p", "vm:1:1 [0] transport/p2p.cc:300 NCCL WARN cudaIpcOpenMemHandle of peer 1 failed"},
    {"topology-broken",
     "vm:1:1 [0] graph/xml.h:90 NCCL WARN Attribute busid of node pci not found"},
    {"topology-broken",
     "vm:1:1 [0] graph/xml.cc:332 NCCL WARN Could not find real path of /sys/devices/x"},
    {"fabric-manager", "RuntimeError: cudaErrorSystemNotReady"},
    {"fabric-manager", "RuntimeError: CUDA_ERROR_SYSTEM_NOT_READY: returned by cuInit"},
    {"fabric-manager",
     "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: unknown"},
    {"gpu-ill", "RuntimeError: NVML: GPU is lost"},
    {"gpu-ill", "Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error"},
    {"gpu-ill", "RuntimeError: CUDA error: uncorrectable ECC error encountered"},
    {"gpu-ill",
     "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution"},
    {"device-failure", "torch.AcceleratorError: CUDA error: unknown error"},
    {"device-failure", "[rank1]: torch.AcceleratorError: CUDA error: unknown error"},
    {"device-failure",
     "[rank1]:[E1129 02:57:11.551776055 ProcessGroupNCCL.cpp:2192] [PG ID 0 PG GUID 0(default_pg) "
     "Rank 1] Process group watchdog thread terminated with exception: CUDA error: unknown error"},
    {"cuda-failure",
     "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, unhandled cuda "
     "error, NCCL version 2.18.1"},
    {"rtx4000",
     "NotImplementedError: Using RTX 4000 series doesn't support faster communication broadband "
     "via P2P or IB."},
    {"graph-capture",
     "RuntimeError: CUDA error: operation failed due to a previous error during capture"},
    {"ifname-missing",
     "vm:1:1 [0] transport/net_socket.cc:42 NCCL WARN NET/Socket : no interface found"},
    {"ifname-missing", "RuntimeError: [enforce fail at device.cc:94] no device found matching x"},
    {"ifname-missing", "RuntimeError: Unable to find address for: enp99"},
    {"net-missing", "vm:1:1 [0] net.cc:500 NCCL WARN Error: network NoSuchNet not found."},
    {"gloo-connect",
     "RuntimeError: [enforce fail at /pytorch/third_party/gloo/gloo/context.cc:40] rank < size"},
    {"gloo-connect",
     "RuntimeError: [/third_party/gloo/gloo/transport/tcp/pair.cc:144] SO_ERROR: 110"},
    {"ib-peer", "vm:1:1 [0] transport/net_ib.cc:98 NCCL WARN NET/IB : mlx5_0 async fatal event"},
    {"ib-peer",
     "vm:1:1 [0] transport/net_ib.cc:700 NCCL WARN NET/IB : Attempted to connect incompatible "
     "devices"},
    {"efa", "provider efa output empty list"},
    {"nccl-unhandled", "RuntimeError: ncclSystemError: System call failed"},
    {"nccl-unhandled", "RuntimeError: ncclInternalError: Internal check failed."},
    {"nccl-unhandled", "RuntimeError: NCCL internal error - please report this issue"},
    {"nccl-unhandled", "RuntimeError: ncclInvalidUsage: no reason"},
    {"nccl-unhandled", "RuntimeError: ncclUnhandledCudaError: Call to CUDA function failed."},
    {"nccl-unhandled", "RuntimeError: NCCL Error 2: unknown"},
    {"watchdog-timeout",
     "[E ProcessGroupNCCL.cpp:632] [Rank 1] last enqueued NCCL work: 5, last completed NCCL work: "
     "4."},
    {"ras-crash", "*** SIGSEGV received in thread ras of process 4711 ***"},
    {"ras-crash", "/usr/lib/libnccl.so.2 rasNetSend(rasConnection*)+0x1f2 [0x7f]"},
    {"rank-missing",
     "RuntimeError: Rank 0 detected that rank 2 failed to pass monitoredBarrier in 10000 ms"},
    {"jax-barrier", "jax.errors.JaxRuntimeError: cluster registration failed"},
    {"jax-barrier",
     "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Deadline Exceeded; RPC: "
     "RegisterTask"},
    {"jax-barrier", "RPC: /tensorflow.CoordinationService/RegisterTask [type.googleapis.com/x=]"},
    {"jax-barrier", "jax.errors.JaxRuntimeError: GetKeyValue() timed out with key: cuda:0 and 60s"},
    {"jax-peer-lost",
     "Terminating process because the JAX distributed service detected fatal errors."},
    {"jax-peer-lost", "Failed to send RPC to coordination service."},
    {"jax-config", "ValueError: coordinator_address should be defined."},
    {"connect-failed",
     "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while "
     "trying to connect to (10.0.0.7, 29500)."},
    {"store-timeout",
     "torch.distributed.DistStoreError: wait timeout after 5000ms, keys: /default_pg/0//cpu//0/1"},
    {"abort-at-exit", "terminate called without an active exception"},
    {"ranks-disagree",
     "RuntimeError: [1]: params[0] in this process with sizes [2, 5] appears not to match sizes of "
     "the same param in process 0."},
    {"launcher-cannot-meet",
     "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: no more words"},
    {"launcher-cannot-meet",
     "RuntimeError: The connection to the C10d store has failed. See inner exception for details."},
    {"deepspeed-ssh", "RuntimeError: launcher 'pdsh' not installed."},
    {"mpi-slots", "There are not enough slots available in the system to satisfy the 8"},
    {"rank-crashed", "Fatal Python error: Segmentation fault"},
    {"rank-crashed", "Signal 11 (SIGSEGV) received by PID 733"},
    {"rank-crashed", "Signal 6 (SIGABRT) received by PID 733"},
    {"rank-crashed", "failed (exitcode: -6) local_rank: 0 (pid: 733) of binary: /usr/bin/python3"},
    {"rank-crashed",
     "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal "
     "SIGABRT"},
    {"rank-crashed",
     "E0203 10:11:13.200000 700 torch/distributed/elastic/multiprocessing/api.py:869] failed "
     "(exitcode: -8) local_rank: 2 (pid: 733) of binary: /opt/env/bin/python"},
    {"engine-worker-silent",
     "(EngineCore_DP0 pid=7710) INFO 10-22 09:43:49 [shm_broadcast.py:466] No available shared "
     "memory broadcast block found in 60 seconds."},
    {"launcher-signalled",
     "W0920 09:10:41.194000 8493 torch/distributed/elastic/agent/server/api.py:719] Received 1 "
     "death signal, shutting down workers"},
    {"launcher-signalled",
     "torch.distributed.elastic.multiprocessing.api.SignalException: Process 8493 got signal: 1"},
    {"no-main-guard",
     "RuntimeError: An attempt has been made to start a new process before the current process"},
    {"fork-after-cuda",
     "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
     "multiprocessing, you must use the 'spawn' start method"},
    {"data-loader-died", "RuntimeError: DataLoader worker (pid(s) 12, 13) exited unexpectedly"},
    {"unused-parameters",
     "RuntimeError: Expected to have finished reduction in the prior iteration before starting a "
     "new one."},
    {"wandb-timeout",
     "wandb.errors.errors.CommError: Run initialization has timed out after 90.0 sec."},
    {"extension-tools", "RuntimeError: Ninja is required to load C++ extensions"},
    {"extension-tools",
     "op_builder.builder.MissingCUDAException: CUDA_HOME does not exist, unable to compile CUDA "
     "op(s)"},
    {"extension-tools",
     "op_builder.builder.CUDAMismatchException: >- DeepSpeed Op Builder: Installed CUDA version "
     "11.8 does not match the version torch was compiled with 12.1"},
    {"file-lock-refused", "OSError: [Errno 37] No locks available"},
    {"mkl-threads",
     "Error: mkl-service + Intel(R) MKL: MKL_THREADING_LAYER=INTEL is incompatible with "
     "libgomp-a34b3233.so.1 library."},
    {"jax-too-late",
     "RuntimeError: jax.distributed.initialize() must be called before any JAX computations are "
     "executed."},
    {"deepspeed-without-launcher", "ModuleNotFoundError: No module named 'mpi4py'"},
    {"deepspeed-without-launcher",
     "AssertionError: MPI environment variables are not set, unable to discover ranks"},
    {"local-rank-argument", "train.py: error: unrecognized arguments: --local-rank=1"},
    {"host-memory-refused", "OSError: [Errno 12] Cannot allocate memory"},
    {"host-memory-refused",
     "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't "
     "allocate memory: you tried to allocate 1073741824 bytes. Error code 12 (Cannot allocate "
     "memory)"},
    {"host-memory-refused", "MemoryError"},
    {"host-memory-refused",
     "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array with "
     "shape (1000000000,) and data type float64"},
    {"host-memory-refused", "terminate called after throwing an instance of 'std::bad_alloc'"},
    {"host-memory-refused",
     "ImportError: libtorch_cpu.so: failed to map segment from shared object: Cannot allocate "
     "memory"},
    {"thread-limit", "libgomp: Thread creation failed: Resource temporarily unavailable"},
    {"thread-limit",
     "OpenBLAS blas_thread_init: pthread_create failed for thread 3 of 8: Resource temporarily "
     "unavailable"},
    {"thread-limit", "RuntimeError: can't start new thread"},
    {"ranks-disagree",
     "  what():  [enforce fail at ../third_party/gloo/gloo/transport/tcp/pair.cc:446] "
     "op.preamble.length <= op.nbytes. 512000 vs 256000"},
    {"data-loader-died", "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed."},
    {"data-loader-died",
     "RuntimeError: DataLoader worker (pid 7) is killed by signal: Segmentation fault."},
    {"shm-small",
     "vm:1:1 [0] misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-a to 9637892 "
     "bytes, error: No space left on device (28)"},
    {"shm-denied",
     "vm:1:1 [0] misc/shmutils.cc:132 NCCL WARN Error while creating shared memory segment "
     "/dev/shm/nccl-PYOXTa (size 9637888), error: Permission denied (13)"},
    {"shm-small",
     "vm:1:1 [0] misc/shmutils.cc:132 NCCL WARN Error while creating shared memory segment "
     "/dev/shm/nccl-PYOXTa (size 9637888), error: No space left on device (28)"},
    {"shm-data-loader",
     "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. This might be caused "
     "by insufficient shared memory (shm)."},
    {"nccl-not-built", "RuntimeError: Distributed package doesn't have NCCL built in"},
    {"nccl-not-built",
     "ValueError: device_id cuda:0 does not match the current compilation's accelerator support: "
     "None."},
    {"driver-old",
     "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."},
    {"net-missing", "vm:1:1 [0] net.cc:500 NCCL WARN Failed to initialize any NET plugin"},
    {"gloo-timeout",
     "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 5000ms for recv "
     "operation to complete"},
    {"jax-port-taken", "jax.errors.JaxRuntimeError: UNKNOWN: Failed to start RPC server"},
};

/// Lines that mean nothing, though others of their words report a failure.
constexpr CauseLine kHarmless[] = {
    {"no-ipv6",
     "[W socket.cpp:426] [c10d] The server socket cannot be initialized on [::]:6100 (errno: 97 - "
     "Address family not supported by protocol)."},
    {"no-ipv6",
     "[W socket.cpp:601] [c10d] The client socket cannot be initialized to connect to "
     "[localhost]:6100 (errno: 97 - Address family not supported by protocol)."},
    {"no-ipv6",
     "[W socket.cpp:697] [c10d] The hostname of the client socket cannot be retrieved. err=-3"},
    {"ras-port-taken",
     "vm:1:1 [0] ras/client_support.cc:160 NCCL WARN Call to bind failed: Address already in use"},
    {"web-retry",
     "WARNING urllib3.connectionpool: connection broken by 'NewConnectionError(': Failed to "
     "establish a new connection: [Errno 101] Network is unreachable')': /api/models/gpt2"},
    {"web-retry",
     "Retrying (Retry(total=4, connect=None)) after connection broken by 'ConnectTimeoutError(': "
     "Connection to huggingface.co timed out. Connection timed out')'"},
};

/// Lines that prove nothing alone: all ranks came, and hang in this stage all the same.
struct HintLine {
  const char* cause;
  Stage stage;
  const char* line;
};

constexpr HintLine kHints[] = {
    {"barrier-device", Stage::collective,
     "[W ProcessGroupNCCL.cpp:1691] [Rank 3] using best-guess GPU 3 to perform barrier as devices "
     "used by this process are currently unknown."},
    {"cumem-host-broken", Stage::communicator,
     "vm:1:1 [0] NCCL INFO cuMem host allocations do not appear to be working; falling back to a "
     "/dev/shm/ based implementation."},
    {"gpu-p2p", Stage::collective, "vm:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC"},
    {"nvls-bind", Stage::collective,
     "vm:1:1 [0] NCCL INFO NVLS Bind mem 0x7f UC handle 0x55 size 1048576"},
    {"wrong-interface", Stage::communicator,
     "vm:1:1 [0] NCCL INFO Bootstrap: Using docker0:172.17.0.1<0>"},
    {"wrong-interface", Stage::collective,
     "vm:1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:fe80::1%eth0<0>"},
    {"ib-unused", Stage::collective, "vm:1:1 [0] NCCL INFO Call to ibv_open_device failed"},
    {"ib-unused", Stage::collective,
     "vm:1:1 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"},
    {"nccl-nonblocking", Stage::communicator,
     "[E ProcessGroupNCCL.cpp:552] [Rank 0] NCCL timeout in: ProcessGroupNCCL.cpp:2982"},
    {"kernel-old", Stage::collective,
     "Detected kernel version 4.18.0, which is below the recommended minimum of 5.5.0; this can "
     "cause the process to hang."},
    {"jax-proxy", Stage::rendezvous,
     "JAX detected proxy variable(s) in the environment as distributed setup: http_proxy"},
};

/// The last words of a rank that did not come.
constexpr CauseLine kAbsences[] = {
    {"port-zero", "torchrun --master_port=0 train.py"},
    {"port-zero", "MASTER_PORT=0"},
    {"waiting-for-human", "wandb: Enter your choice:"},
    {"waiting-for-human", "(Pdb) "},
    {"waiting-for-human", "ipdb> "},
    {"waiting-for-human", "Do you wish to run the custom code? [y/N] "},
    {"waiting-for-human", "Enter your token (input will not be visible): "},
    {"extension-lock",
     "Using /root/.cache/torch_extensions/py311_cu121 as PyTorch extensions root..."},
    {"extension-lock", "file_baton.py:49 wait"},
    {"extension-lock", "wait (file_baton.py:49)"},
    {"rank-busy", "Running tokenizer on dataset:  12%"},
    {"rank-busy", "Map (num_proc=8):  40%|####      | 4000/10000"},
    {"rank-busy", "Generating train split: 1200 examples"},
    {"rank-busy", "Loading checkpoint shards:  33%|###       | 1/3"},
    {"rank-busy", "[2/4] /usr/local/cuda/bin/nvcc -DTORCH_EXTENSION_NAME=fused_adam"},
    {"accelerator-then-silence", "Setting ds_accelerator to cuda (auto detect)"},
    {"fork-deadlock",
     "huggingface/tokenizers: The current process just got forked, after parallelism has already "
     "been used."},
    {"jax-proxy", "JAX detected proxy variable(s) in the environment"},
};

std::string cause_first_shown_by(std::string_view line) {
  const auto found =
      read_log(fmt::format("Epoch 0 begins\n{}\nterminate\n", line), Catalogue::builtin());
  return found.empty() ? "none" : found.front().cause->id;
}

std::string cause_of_hang_after(Stage stage, std::string_view line) {
  Evidence evidence = hang(stage, {});
  evidence.output = {{"stderr", Rank{0}, std::string(line) + "\n"}};
  return diagnosed(evidence).failure.cause;
}

std::string cause_of_absence_after(std::string_view line) {
  Evidence evidence = hang(Stage::group, {{Rank{2}, Activity::quiet, "", ""}});
  evidence.output = {{"rank-2.err", Rank{2}, std::string(line) + "\n"}};
  return diagnosed(evidence).failure.cause;
}

/// The parts of a pattern between the bars that stand in no bracket.
std::vector<std::string> alternatives_of(std::string_view pattern) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char sign = pattern[i];
    if (sign == '|' && depth == 0 && !in_class) {
      parts.emplace_back();
      continue;
    }
    parts.back() += sign;
    if (sign == '\\') {
      parts.back() += pattern[++i];
    } else if (in_class) {
      in_class = sign != ']';
    } else {
      in_class = sign == '[';
      depth += (sign == '(' ? 1 : 0) - (sign == ')' ? 1 : 0);
    }
  }
  return parts;
}

/// "'it''s'": a text as YAML quotes it.
std::string in_yaml(std::string_view text) {
  std::string quoted = "'";
  for (const char sign : text) quoted += sign == '\'' ? std::string("''") : std::string(1, sign);
  return quoted + "'";
}

/// A catalogue of one row for each alternative of this kind, which is the row's title.
template <class Patterns>
Catalogue row_by_row(Patterns patterns) {
  std::string yaml;
  int number = 0;
  for (const Cause& cause : Catalogue::builtin().causes())
    for (const std::string& pattern : cause.*patterns)
      for (const std::string& part : alternatives_of(pattern))
        yaml +=
            fmt::format("- id: a{}\n  title: {}\n  retry: never\n  remedy: x\n  patterns: [{}]\n",
                        number++, in_yaml(cause.id + ": " + part), in_yaml(part));
  return *Catalogue::parse(std::array{CatalogueText{"parts.yaml", yaml}});
}

/// The titles of the rows that no line of the tables meets.
std::vector<std::string> unmet(const Catalogue& rows, const auto&... tables) {
  std::vector<const Cause*> met;
  const auto read = [&](const auto& table) {
    for (const auto& one : table)
      for (const Match& match : rows.match(one.line)) met.push_back(match.cause);
  };
  (read(tables), ...);
  std::vector<std::string> titles;
  for (const Cause& row : rows.causes())
    if (std::ranges::find(met, &row) == met.end()) titles.push_back(row.title);
  return titles;
}

}  // namespace

TEST_CASE("lines as programs write them name their cause", "[cause_lines]") {
  for (const auto& [cause, line] : kProofs) {
    INFO(line);
    CHECK(cause_first_shown_by(line) == cause);
  }
}

TEST_CASE("a line that is known to be harmless shows nothing", "[cause_lines]") {
  for (const auto& [cause, line] : kHarmless) {
    INFO(line);
    CHECK(Catalogue::builtin().at(cause).kind == Kind::harmless);
    CHECK(cause_first_shown_by(line) == "none");
  }
}

TEST_CASE("a line may tell why all ranks came and yet hang", "[cause_lines]") {
  for (const auto& [cause, stage, line] : kHints) {
    INFO(line);
    CHECK(cause_of_hang_after(stage, line) == cause);
  }
}

TEST_CASE("the last words of a rank may tell why it does not come", "[cause_lines]") {
  for (const auto& [cause, line] : kAbsences) {
    INFO(line);
    CHECK(cause_of_absence_after(line) == cause);
  }
}

TEST_CASE("every alternative of every pattern is met by a line", "[cause_lines]") {
  const std::vector<std::string> none;
  CHECK(unmet(row_by_row(&Cause::patterns), kProofs, kHarmless) == none);
  CHECK(unmet(row_by_row(&Cause::hints), kHints) == none);
  CHECK(unmet(row_by_row(&Cause::absence), kAbsences) == none);
}
