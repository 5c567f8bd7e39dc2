#include "safelaunch/diagnose/explain.h"

#include "catch.h"
#include "launcher/diagnose/log_line.h"
#include "test_data.h"

using namespace safelaunch;

using namespace safelaunch::diagnose;
using safelaunch::testing::data;

namespace {

std::string first_cause(const std::string& log) {
  const auto found = read_log(log, Catalogue::builtin());
  return found.empty() ? "none" : found.front().cause->id;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a cause is explained with its remedy, its commands and its links", "[explain]") {
  const std::string text = explain(Catalogue::builtin().at("shm-small"));
  CHECK(text.starts_with("shm-small  F04\n/dev/shm is too small or full\n"));
  CHECK(has(text, "df -h /dev/shm"));
  CHECK(has(text, "https://github.com/NVIDIA/nccl/issues/290"));
  CHECK(has(text, "the next profile is tried"));
}

TEST_CASE("a log is explained with its cause first and the traceback last", "[explain]") {
  const std::string text =
      explain_log(data("launchers/torchrun-zero-division.txt"), Catalogue::builtin());
  CHECK(
      text.starts_with("the script raised an exception of its own (user-exception, rank 1)\n"
                       "  ZeroDivisionError: division by zero\n"));
  CHECK(text.find("victim: ") > text.find("ZeroDivisionError"));
  CHECK(text.ends_with("ZeroDivisionError: division by zero\n"));
}

TEST_CASE("a healthy log shows no cause", "[explain]") {
  CHECK(explain_log("epoch 1\nloss 0.5\n", Catalogue::builtin()) ==
        "No known cause shows in this log.\n");
  CHECK(explain_log("", Catalogue::builtin()) == "No known cause shows in this log.\n");
}

TEST_CASE("what looks like a failure on NCCL's INFO lines is none", "[explain]") {
  CHECK(first_cause("vm:1:1 [0] NCCL INFO Failed to initialize any NET plugin\n") == "none");
  CHECK(first_cause("vm:1:1 [0] a.cc:1 NCCL WARN Failed to initialize any NET plugin\n") ==
        "net-missing");
}

TEST_CASE("NCCL's RAS port in use is no taken port", "[explain]") {
  CHECK(first_cause("vm:1:1 [0] ras/client_support.cc:160 NCCL WARN Call to bind failed: Address "
                    "already in use\n") == "none");
}

TEST_CASE("lines from users' reports name their cause", "[explain]") {
  const std::vector<std::pair<std::string, std::string>> lines = {
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
      {"connect-failed",
       "socketStartConnect: Connect to 10.0.0.7<41235> failed : No route to host"},
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
      {"gpu-exclusive",
       "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable"},
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
      {"graph-capture",
       "RuntimeError: CUDA error: operation not permitted when stream is capturing"},
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
  };
  for (const auto& [cause, line] : lines) {
    INFO(line);
    CHECK(first_cause("Epoch 0 begins\n" + line + "\nterminate\n") == cause);
  }
}

TEST_CASE("a cause stands before a victim that wrote first", "[explain]") {
  CHECK(
      first_cause("[rank0]: RuntimeError: [gloo/pair.cc:5] Connection closed by peer\n"
                  "vm:1:1 [0] a.cc:1 NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on "
                  "CUDA device 10000\n") == "duplicate-gpu");
}

TEST_CASE("a flood of ranks and causes stays small", "[explain]") {
  std::string flood;
  for (int rank = 0; rank < 50000; ++rank)
    flood += "[rank" + std::to_string(rank) + "]: RuntimeError: Connection reset by peer\n";
  CHECK(read_log(flood, Catalogue::builtin()).size() <= 64);
}

TEST_CASE("hostile logs are read to their end", "[explain]") {
  std::string noise;
  for (int i = 0; i < 200000; ++i) noise += static_cast<char>((i * 7919 + i / 251) % 256);
  CHECK_NOTHROW(explain_log(noise, Catalogue::builtin()));
  CHECK(first_cause(std::string(8 << 20, 'a')) == "none");
  CHECK(first_cause(std::string(1 << 20, '\n') + "CUDA error: invalid device ordinal\n") ==
        "device-ordinal");
  std::string nested;
  for (int i = 0; i < 20000; ++i) nested += "Traceback (most recent call last):\n  File \"a.py\"\n";
  CHECK(first_cause(nested + "KeyError: 1\n") == "user-exception");
  std::string begun;
  for (int i = 0; i < 2000; ++i) begun += "connect connect retrieving ncclUniqueId from [0] ";
  CHECK(first_cause(begun) == "none");
  CHECK(first_cause("x:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2000000000 - Init START\n") ==
        "none");
}

TEST_CASE("the words of an error name its cause without the traceback", "[explain]") {
  const auto named = [](std::string_view words) {
    const Cause* cause = cause_named_by(words, Catalogue::builtin());
    return cause == nullptr ? "none" : cause->id;
  };
  CHECK(named("CUDA out of memory") == "gpu-oom");
  CHECK(named("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB") == "gpu-oom");
  CHECK(named("NCCL timeout") == "watchdog-timeout");
  CHECK(named("RuntimeError: Timed out initializing process group") == "store-timeout");
  CHECK(named("Address already in use") == "port-taken");
  CHECK(named("the cat sat on the mat") == "none");
}
