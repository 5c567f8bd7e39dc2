// Lines that are much like those of a cause, and must not be taken for it; and failures with two
// causes at once.
#include <algorithm>
#include <csignal>
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

struct NearMiss {
  const char* cause;  ///< the one that the line must not show
  const char* shows;  ///< the one that it shows; "none": no cause at all
  const char* line;
};

constexpr NearMiss kNearMisses[] = {
    {"port-taken", "none", "OSError: [Errno 99] Cannot assign requested address"},
    {"port-taken", "none", "RuntimeError: cannot write the checkpoint (errno: 980)"},
    {"server-port-taken", "none",
     "ERROR:    [Errno 99] error while attempting to bind on address ('10.0.0.7', 30000): cannot "
     "assign requested address"},
    {"own-port-taken", "port-taken",
     "RuntimeError: The server socket has failed to bind to [::]:29500 (errno: 98 - Address "
     "already "
     "in use)."},
    {"ras-port-taken", "port-taken",
     "vm:1:1 [0] misc/socket.cc:484 NCCL WARN Call to bind failed: Address already in use"},
    {"name-resolution", "gloo-connect",
     "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:144] no error, "
     "remote=[10.0.0.7]:5123"},
    {"name-resolution", "web-unreachable",
     "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', port=443): "
     "Max retries exceeded (Caused by NameResolutionError(\"Failed to resolve 'huggingface.co' "
     "([Errno -3] Temporary failure in name resolution)\"))"},
    {"connect-failed", "web-unreachable",
     "requests.exceptions.ConnectionError: HTTPConnectionPool(host='mlflow', port=80): Max retries "
     "exceeded (Caused by NewConnectionError('<urllib3.connection.HTTPConnection object at 0x7f>: "
     "Failed to establish a new connection: [Errno 111] Connection refused'))"},
    {"web-unreachable", "connect-failed",
     "torch.distributed.DistNetworkError: The client socket has failed to connect to [host]:29500 "
     "(errno: 111 - Connection refused)."},
    {"web-unreachable", "none",
     "WARNING urllib3.connectionpool: Retrying (Retry(total=4, connect=None)) after connection "
     "broken by 'NewConnectionError(': Failed to establish a new connection: [Errno 101] Network "
     "is "
     "unreachable')': /api/models/gpt2"},
    {"web-retry", "connect-failed",
     "vm:1:1 [0] misc/socket.cc:484 NCCL INFO x\n[E socket.cpp:9] connect to [host]:29500 failed: "
     "Connection refused, retrying (1/34)"},
    {"store-timeout", "gloo-timeout",
     "RuntimeError: Timed out waiting 5000ms for recv operation to complete"},
    {"world-joined-twice", "none",
     "Waiting in store based barrier to initialize process group for rank: 0, key: "
     "store_based_barrier_key:1 (world_size=4, worker_count=2, timeout=0:30:00)"},
    {"world-joined-twice", "none",
     "Waiting in store based barrier to initialize process group for rank: 0, key: "
     "store_based_barrier_key:1 (world_size=16, num_workers_joined=16, timeout=0:30:00)"},
    {"rendezvous-closed", "launcher-cannot-meet",
     "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the "
     "C10d store has failed."},
    {"hostfile", "none",
     "[WARNING] [runner.py:191:fetch_hostfile] Unable to find hostfile, will proceed with training "
     "with local resources only."},
    {"abort-at-exit", "host-memory-refused",
     "terminate called after throwing an instance of 'std::bad_alloc'"},
    {"peer-lost", "connect-failed",
     "RuntimeError: connect to 10.0.0.7<41235> failed : Connection refused"},
    {"peer-lost", "web-unreachable",
     "requests.exceptions.ConnectionError: ('Connection aborted.', ConnectionResetError(104, "
     "'Connection reset by peer'))"},
    {"elastic-summary", "launcher-signalled",
     "torch.distributed.elastic.multiprocessing.api.SignalException: Process 4711 got signal: 15"},
    {"stopped-by-launcher", "launcher-signalled",
     "Received 15 death signal, shutting down workers"},
    {"world-size-mismatch", "duplicate-rank",
     "vm:1:1 [0] a.cc:1 NCCL WARN Bootstrap Root : rank 1 of 2 ranks has already checked in"},
    {"duplicate-rank", "world-size-mismatch",
     "vm:1:1 [0] a.cc:1 NCCL WARN Bootstrap Root : mismatch in info from procs, info 2 : 3"},
    {"packages-quarrel", "none",
     "ImportError: cannot import name 'train' from 'utils' (/home/u/project/utils.py)"},
    {"module-missing", "none",
     "ImportError: cannot import name 'packaging' from 'pkg_resources' (unknown location)"},
    {"group-not-initialized", "none",
     "ValueError: trying to initialize the default process group twice!"},
    {"device-assert", "illegal-address",
     "RuntimeError: CUDA error: an illegal memory access was encountered"},
    {"illegal-address", "none", "RuntimeError: CUDA error: misaligned address"},
    {"save-failed", "none",
     "RuntimeError: [enforce fail at inline_container.cc:263] . file not found: archive/data.pkl"},
    {"disk-full", "none", "OSError: [Errno 30] Read-only file system: '/data/checkpoint'"},
    {"disk-full", "shm-data-loader",
     "RuntimeError: unable to write to file </torch_4711_0>: No space left on device (28)"},
    {"world-variables", "none", "KeyError: 'rank'"},
    {"world-variables", "slurm-half", "KeyError: 'SLURM_PROCID'"},
    {"slurm-half", "none", "KeyError: 'label'"},
    {"slurm-half", "none", "print(\"KeyError: 'SLURM_JOB_ID'\")"},
    {"duplicate-gpu", "device-ordinal", "RuntimeError: CUDA error: invalid device ordinal"},
    {"device-ordinal", "none", "RuntimeError: CUDA error: invalid device function"},
    {"ranks-disagree", "none",
     "RuntimeError: Error(s) in loading state_dict for Net: size mismatch for fc.weight: copying a "
     "param with shape torch.Size([10, 5]) from checkpoint"},
    {"message-truncated", "none", "Message truncated : received 144 bytes instead of 128"},
    {"script-missing", "none",
     "FileNotFoundError: [Errno 2] No such file or directory: '/home/user/train.json'"},
    {"bad-arguments", "none", "train.py: error: the data folder is empty"},
    {"gpu-oom", "none", "CUDA out of memory, trying again with batch size 8"},
    {"gpu-oom", "none", "java.lang.OutOfMemoryError: Java heap space"},
    {"gpu-oom-in-nccl", "cuda-failure",
     "vm:1:1 [0] alloc.h:100 NCCL WARN Cuda failure 1 'invalid argument'"},
    {"gpu-held", "gpu-oom",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. Including "
     "non-PyTorch "
     "memory, this process has 78.00 GiB memory in use."},
    {"gpu-held",
     "gpu-oom",  // an H200 with three other ranks of a job on it: it has not so much memory
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4096.00 GiB. GPU 0 has a total "
     "capacity of 139.80 GiB of which 133.50 GiB is free. Process 1664 has 984.00 MiB memory in "
     "use. Process 1892 has 712.00 MiB memory in use. Including non-PyTorch memory, this process "
     "has 982.00 MiB memory in use."},
    {"gpu-held", "gpu-oom",  // in a container, where process 812345 is the program itself
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
     "capacity of 79.10 GiB of which 1.10 GiB is free. Process 812345 has 78.00 GiB memory in use. "
     "Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use."},
    {"host-oom", "none",
     "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -15) local_rank: 0 "
     "(pid: "
     "290) of binary: /usr/bin/python"},
    {"open-files", "disk-full", "OSError: [Errno 28] No space left on device"},
    {"file-exchange", "none",
     "vm:1:1 [0] misc/shmutils.cc:1 NCCL WARN unlink shared memory /dev/shm/nccl-AbCdEf failed, "
     "error: Permission denied"},
    {"shm-denied", "shm-small",
     "vm:1:1 [0] misc/shmutils.cc:132 NCCL WARN Error while creating shared memory segment "
     "/dev/shm/nccl-PYOXTa (size 9637888), error: No space left on device (28)"},
    {"shm-small", "data-loader-died",
     "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Segmentation fault."},
    {"shm-data-loader", "shm-small",
     "vm:1:1 [0] misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-a to 9637892 "
     "bytes, error: No space left on device (28)"},
    {"shm-attach", "none",
     "vm:1:1 [0] misc/shmutils.cc:60 NCCL WARN Call to open failed: Permission denied"},
    {"cumem-host-broken", "shm-attach",
     "vm:1:1 [0] misc/shmutils.cc:132 NCCL WARN Error while attaching to shared memory segment "
     "/dev/shm/nccl-AbCdEf (size 9637888)"},
    {"cumem-uds", "none",
     "vm:1:1 [0] NCCL INFO UDS: Sending data over socket /tmp/nccl-socket-0 failed : Connection "
     "refused (111)"},
    {"uds-namespaces", "cumem-uds",
     "vm:1:1 [0] misc/ipcsocket.cc:67 NCCL WARN UDS: Binding to socket /tmp/nccl-socket failed : "
     "Permission denied (13)"},
    {"nccl-not-built", "none", "RuntimeError: Distributed package doesn't have MPI built in."},
    {"no-gpu", "none", "a.py:7: UserWarning: 1Torch was not compiled with flash attention."},
    {"container-lost-gpus", "driver-mismatch",
     "Failed to initialize NVML: Driver/library version mismatch"},
    {"driver-mismatch", "container-lost-gpus", "Failed to initialize NVML: Unknown Error"},
    {"gpu-p2p", "cuda-failure",
     "vm:1:1 [0] transport/shm.cc:275 NCCL WARN Cuda failure 'invalid argument'"},
    {"wsl-topology", "topology-broken",
     "vm:1:1 [0] graph/xml.cc:332 NCCL WARN Could not find real path of /sys/devices/pci0000:3a"},
    {"topology-broken", "none", "vm:1:1 [0] NCCL INFO Attribute class of node pci not found"},
    {"no-transport", "none",
     "vm:1:1 [0] NCCL INFO No transport found for rank 0[10000] -> rank 1[20000]"},
    {"nvls-bind", "gpu-p2p",
     "vm:1:1 [0] transport/p2p.cc:275 NCCL WARN Cuda failure 401 'the operation cannot be "
     "performed "
     "in the present state'"},
    {"fabric-manager", "none", "epoch 3: mean squared error 802.41"},
    {"driver-old", "none", "| NVIDIA-SMI 550.54   Driver Version: 550.54   CUDA Version: 12.4 |"},
    {"gpu-ill", "none", "GPU 0 (0000:3b:00.0): 3 corrected ECC errors"},
    {"gpu-exclusive", "none", "RuntimeError: CUDA error: device kernel image is invalid"},
    {"cuda-unknown", "device-failure", "RuntimeError: CUDA error: unknown error"},
    {"device-failure", "none", "retried after a CUDA error: unknown error, see above"},
    {"device-failure", "none",
     "[rank1]:[W1129 02:57:11.549020709 CUDAGuardImpl.h:147] Warning: destroyEvent() ignoring "
     "error: "
     "CUDA error: unknown error"},
    {"mnnvl", "none", "vm:1:1 [0] NCCL INFO MNNVL 1 cliqueId 7c cliqueSize 8 cliqueRank 0"},
    {"cuda-failure", "none", "Cuda failure 'invalid argument'"},
    {"rtx4000", "none", "rank 0 uses an RTX 4090, rank 1 an RTX 4000"},
    {"graph-capture", "none", "RuntimeError: CUDA error: misaligned address"},
    {"ifname-missing", "none", "vm:1:1 [0] a.cc:1 NCCL WARN NET/IB : No device found."},
    {"net-missing", "none", "vm:1:1 [0] NCCL INFO Error: network NoSuchNet not found."},
    {"gloo-connect", "peer-lost",
     "RuntimeError: [gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:39613: Connection "
     "reset "
     "by peer. GLHF!"},
    {"ib-peer", "ib-memlock",
     "vm:1:1 [0] misc/ibvwrap.cc:252 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot "
     "allocate memory"},
    {"ib-memlock", "ib-peer",
     "vm:1:1 [0] misc/ibvwrap.cc:106 NCCL WARN Call to ibv_modify_qp failed with 22 Invalid "
     "argument"},
    {"efa", "none", "vm:1:1 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa"},
    {"nccl-mismatch", "none", "vm:1:1 [0] NCCL INFO NCCL version 2.29.7+cuda12.9"},
    {"nccl-two-libraries", "none",
     "ImportError: libtorch_cuda.so: undefined symbol: cublasLtMatmul"},
    {"nccl-unhandled", "none", "NCCL errors are handled asynchronously"},
    {"watchdog-timeout", "none",
     "[E ProcessGroupNCCL.cpp:1982] [Rank 0] Received a dump signal due to a collective timeout "
     "from this local rank "
     "and we will try our best to dump the debug info. Last enqueued NCCL work: 1, last completed "
     "NCCL work: -1."},
    {"watchdog-timeout", "watchdog-stuck",
     "[F ProcessGroupNCCL.cpp:1185] ProcessGroupNCCL's watchdog got stuck for 480 seconds without "
     "making progress"},
    {"library-missing", "none",
     "W dso_loader.cc:64] Could not load dynamic library 'libcudart.so.11.0'; dlerror: "
     "libcudart.so.11.0: cannot open shared object file: No such file or directory"},
    {"watchdog-stuck", "none", "[I ProcessGroupNCCL.cpp:587] NCCL watchdog thread started!"},
    {"ras-crash", "none", "rank 3 ended by SIGSEGV in rasterize_triangles"},
    {"gloo-timeout", "none", "RuntimeError: Timed out waiting 5000ms for a batch"},
    {"rank-missing", "none", "RuntimeError: rank 2 failed to pass the barrier in 10000 ms"},
    {"comm-error", "none",
     "ImportError: cannot import name 'ProcessGroupNCCL' from 'torch._C._distributed_c10d'"},
    {"comm-error", "none",
     "FileNotFoundError: [Errno 2] No such file or directory: '/data/gloo/train.bin'"},
    {"no-ipv6", "connect-failed",
     "torch.distributed.DistNetworkError: The client socket has failed to connect to [host]:29500 "
     "(errno: 111 - Connection refused)."},
    {"launcher-cannot-meet", "rendezvous-closed",
     "torch.distributed.elastic.rendezvous.api.RendezvousClosedError"},
    {"deepspeed-ssh", "none", "launcher 'pdsh' is installed"},
    {"mpi-slots", "none", "all 8 slots available in the system are used"},
    {"rank-crashed", "host-oom", "torch: process 1 terminated, killed by SIGKILL"},
    {"engine-worker-silent", "none", "shared memory broadcast block of 60 MB"},
    {"launcher-signalled", "stopped-by-launcher",
     "W0203 10:11:12.100000 700 torch/distributed/elastic/multiprocessing/api.py:900] Sending "
     "process 731 closing signal SIGTERM"},
    {"no-main-guard", "none", "RuntimeError: an attempt was made to start the engine twice"},
    {"fork-after-cuda", "none", "CUDA was initialized in the parent of a forked subprocess"},
    {"data-loader-died", "shm-small",
     "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error."},
    {"unused-parameters", "none", "Finished reduction of the prior iteration"},
    {"wandb-timeout", "none", "wandb: run initialization took 30 s"},
    {"extension-tools", "none", "ninja: no work to do."},
    {"file-lock-refused", "none", "OSError: [Errno 35] Resource deadlock avoided"},
    {"mkl-threads", "none", "MKL_THREADING_LAYER=GNU"},
    {"jax-too-late", "none", "jax.distributed.initialize() was called with 2 processes"},
    {"deepspeed-without-launcher", "module-missing",
     "ModuleNotFoundError: No module named 'mpi4jax'"},
    {"local-rank-argument", "bad-arguments",
     "train.py: error: unrecognized arguments: --learning-rate 1"},
    {"host-memory-refused", "none", "[Errno 13] Permission denied: 'memory'"},
    {"host-memory-refused", "none", "    except MemoryError:"},
    {"host-memory-refused", "gpu-oom", "torch.OutOfMemoryError: CUDA out of memory."},
    {"thread-limit", "none", "starting a new thread for rank 3"},
    {"jax-barrier", "none",
     "google.api_core.exceptions.DeadlineExceeded: 504 DEADLINE_EXCEEDED: gs://bucket/x"},
    {"jax-peer-lost", "none", "UNAVAILABLE: failed to connect to all addresses"},
    {"jax-port-taken", "port-taken", "E0101 tcp_server_posix.cc:219] bind: Address already in use"},
    {"jax-config", "none", "ValueError: Number of processes must be positive."},
    {"xla-clique", "none", "This thread has been waiting for `first call` for 60 seconds"},
};

/// Lines that tell nothing about a hang in which all ranks came.
constexpr NearMiss kNoHints[] = {
    {"barrier-device", "collective-stuck",
     "Rank 3 uses GPU 3 to perform barrier, as device_ids say"},
    {"cumem-host-broken", "collective-stuck", "vm:1:1 [0] NCCL INFO cuMem host allocations: 2"},
    {"gpu-p2p", "collective-stuck",
     "vm:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct"},
    {"nvls-bind", "collective-stuck", "vm:1:1 [0] NCCL INFO NVLS comm 0x55 headRank 0 nHeads 8"},
    {"wrong-interface", "collective-stuck",
     "vm:1:1 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.7<0>"},
    {"wrong-interface", "collective-stuck",
     "vm:1:1 [0] NCCL INFO NET/Socket : Using [0]bond0:2001:db8::1<0>"},
    {"ib-unused", "collective-stuck", "vm:1:1 [0] NCCL INFO NET/IB : No device found."},
    {"nccl-nonblocking", "collective-stuck", "NCCL timeout: 600 s"},
    {"kernel-old", "collective-stuck", "Detected kernel version 6.8.0"},
    {"jax-proxy", "collective-stuck", "proxy variables: http_proxy"},
};

/// Last words that do not tell why a rank stays away.
constexpr NearMiss kNoAbsences[] = {
    {"port-zero", "rank-missing", "MASTER_PORT=29500 main_process_port 01"},
    {"waiting-for-human", "rank-missing", "wandb: You chose 'Use W&B in offline mode'"},
    {"extension-lock", "rank-missing", "Loading extension module fused_adam..."},
    {"rank-busy", "rank-missing", "[2/4] epochs done"},
    {"rank-busy", "rank-missing", "Mapping: rank 2 to GPU 2"},
    {"accelerator-then-silence", "rank-missing", "Setting ds_accelerator"},
    {"fork-deadlock", "rank-missing", "huggingface/tokenizers: 4 threads"},
    {"jax-proxy", "rank-missing", "JAX detected 4 devices"},
};

std::string first_cause_in(std::string_view line) {
  const auto found =
      read_log(fmt::format("Epoch 0 begins\n{}\nterminate\n", line), Catalogue::builtin());
  return found.empty() ? "none" : found.front().cause->id;
}

/// The causes that have these patterns, and no row in the table.
template <class Patterns, class Table>
std::vector<std::string> without_row(Patterns patterns, const Table& table) {
  std::vector<std::string> ids;
  for (const Cause& cause : Catalogue::builtin().causes())
    if (!(cause.*patterns).empty() &&
        std::ranges::none_of(table, [&](const NearMiss& one) { return one.cause == cause.id; }))
      ids.push_back(cause.id);
  return ids;
}

Evidence with_log(std::string text) {
  Evidence evidence = with_exceptions({});
  evidence.failure.ended = {{Rank{0}, {}, Exited{1}}};
  evidence.output = {{"rank-0.err", Rank{0}, std::move(text)}};
  return evidence;
}

constexpr const char* kShmFull =
    "vm:1:1 [0] misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-a to 9637892 "
    "bytes, error: No space left on device (28)\n";
constexpr const char* kBadOrdinal = "RuntimeError: CUDA error: invalid device ordinal\n";

std::vector<std::string> ids_of(const std::vector<Sighting>& sightings) {
  std::vector<std::string> ids;
  for (const Sighting& one : sightings) ids.push_back(one.cause->id);
  return ids;
}

}  // namespace

TEST_CASE("a line that is much like a cause's is not taken for it", "[near_misses]") {
  for (const auto& [cause, shows, line] : kNearMisses) {
    INFO(cause << ": " << line);
    CHECK(first_cause_in(line) == shows);
  }
}

TEST_CASE("a hang is not explained by a line that is only much like a hint", "[near_misses]") {
  for (const auto& [cause, shows, line] : kNoHints) {
    INFO(cause << ": " << line);
    Evidence evidence = hang(Stage::collective, {});
    evidence.output = {{"stderr", Rank{0}, std::string(line) + "\n"}};
    CHECK(diagnosed(evidence).failure.cause == shows);
  }
}

TEST_CASE("a missing rank is not explained by last words that are only much like a cause's",
          "[near_misses]") {
  for (const auto& [cause, shows, line] : kNoAbsences) {
    INFO(cause << ": " << line);
    Evidence evidence = hang(Stage::group, {{Rank{2}, Activity::quiet, "", ""}});
    evidence.output = {{"rank-2.err", Rank{2}, std::string(line) + "\n"}};
    CHECK(diagnosed(evidence).failure.cause == shows);
  }
}

TEST_CASE("every cause that a text shows has a near miss", "[near_misses]") {
  const std::vector<std::string> none;
  CHECK(without_row(&Cause::patterns, kNearMisses) == none);
  CHECK(without_row(&Cause::hints, kNoHints) == none);
  CHECK(without_row(&Cause::absence, kNoAbsences) == none);
}

TEST_CASE("a hint counts only in the stages in which it can be the cause", "[near_misses]") {
  Evidence evidence = hang(Stage::rendezvous, {});
  evidence.output = {
      {"nccl", Rank{0}, "vm:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n"}};
  CHECK(diagnosed(evidence).failure.cause == "store-silent");
}

TEST_CASE("of two causes that one rank shows, the first written is named and both are shown",
          "[near_misses]") {
  const diagnose::Diagnosis shm_first = diagnosed(with_log(std::string(kShmFull) + kBadOrdinal));
  CHECK(shm_first.failure.cause == "shm-small");
  CHECK(ids_of(shm_first.shown_by) == std::vector<std::string>{"shm-small", "device-ordinal"});
  const diagnose::Diagnosis gpu_first = diagnosed(with_log(std::string(kBadOrdinal) + kShmFull));
  CHECK(gpu_first.failure.cause == "device-ordinal");
  CHECK(ids_of(gpu_first.shown_by) == std::vector<std::string>{"device-ordinal", "shm-small"});
}

TEST_CASE("of two causes on two ranks, that of the rank which failed first is named",
          "[near_misses]") {
  for (const int first : {0, 1}) {
    Evidence evidence = with_exceptions({});
    evidence.failure.ended = {{Rank{first}, {}, Exited{1}}, {Rank{1 - first}, {}, Exited{1}}};
    evidence.output = {{"rank-0.err", Rank{0}, kShmFull}, {"rank-1.err", Rank{1}, kBadOrdinal}};
    INFO(first);
    CHECK(diagnosed(evidence).failure.cause == (first == 0 ? "shm-small" : "device-ordinal"));
    CHECK(diagnosed(evidence).failure.first == Rank{first});
  }
}

TEST_CASE("a specific cause of any rank stands before the general one that it explains",
          "[near_misses]") {
  Evidence evidence =
      with_log("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n");
  evidence.output.push_back(
      {"rank-1.err", Rank{1},
       "torch.OutOfMemoryError: CUDA out of memory. Process 7 has 70.00 GiB memory in use.\n"});
  CHECK(diagnosed(evidence).failure.cause == "gpu-held");
}

TEST_CASE("a kill by the kernel stands before whatever another rank printed", "[near_misses]") {
  Evidence evidence = with_log(kShmFull);
  evidence.failure.ended = {{Rank{2}, {}, Signaled{SIGKILL}}, {Rank{0}, {}, Exited{1}}};
  evidence.oom_kills = 1;
  const diagnose::Diagnosis d = diagnosed(evidence);
  CHECK(d.failure.cause == "host-oom");
  CHECK(d.failure.first == Rank{2});
  CHECK(stops(d, diagnose::StopReason::hopeless));
}

TEST_CASE("a stopped rank stands before a cause that another rank printed", "[near_misses]") {
  Evidence evidence = hang(Stage::group, {{Rank{1}, Activity::stopped, "", ""}});
  evidence.output = {{"rank-0.err", Rank{0}, kShmFull}};
  CHECK(diagnosed(evidence).failure.cause == "rank-stopped");
}

TEST_CASE("two facts of the host prove the more specific cause, whichever comes first",
          "[near_misses]") {
  Evidence evidence = with_log(kShmFull);
  const Confirmation small{"shm-small", "/dev/shm has 64 MiB"};
  const Confirmation leaked{"shm-leaked", "40 segments of dead processes"};
  for (const auto& facts : {std::vector{small, leaked}, std::vector{leaked, small}}) {
    evidence.confirmations = facts;
    const diagnose::Diagnosis d = diagnosed(evidence);
    CHECK(d.failure.cause == "shm-leaked");
    CHECK(d.failure.certainty == Certainty::confirmed);
    CHECK(d.failure.explanation ==
          "Rank 0 failed first (exit status 1). 40 segments of dead processes.");
  }
}

TEST_CASE("a fact about a cause that this safelaunch does not know changes nothing",
          "[near_misses]") {
  Evidence evidence = with_log(kShmFull);
  evidence.confirmations = {{"of-a-later-version", "x"}};
  CHECK(diagnosed(evidence).failure.cause == "shm-small");
  CHECK(diagnosed(evidence).failure.certainty == Certainty::matched);
}
