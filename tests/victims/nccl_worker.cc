// nccl_worker [--steps N] [--count N] [--absent-rank N] [--idle-rank N] [--linger SECONDS]
// [--non-blocking] [--any-sum]: one rank of an NCCL job, as a training script is one: it takes
// RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT from its environment, gets the unique
// id from rank 0 over TCP, makes a communicator and does N all_reduces, whose sums it checks
// (unless any sum will do, because kernels do nothing). libcuda and libnccl are those that the
// loader finds. Ends with 0, or with a line that says what failed and 1. The absent rank never
// calls NCCL: it sleeps. The idle rank makes its communicator, and then sleeps.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "safelaunch/gpu/cuda_api.h"
#include "safelaunch/gpu/nccl_api.h"

namespace {

struct Options {
  int steps = 3;
  std::size_t count = 1024;
  int absent_rank = -1;
  int idle_rank = -1;
  int linger = 0;
  bool blocking = true;
  bool check_sums = true;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "0";
    if (word == "--non-blocking") options.blocking = false;
    if (word == "--any-sum") options.check_sums = false;
    if (word == "--non-blocking" || word == "--any-sum") continue;
    ++i;
    if (word == "--steps") options.steps = std::atoi(value);
    if (word == "--count") options.count = static_cast<std::size_t>(std::atol(value));
    if (word == "--absent-rank") options.absent_rank = std::atoi(value);
    if (word == "--idle-rank") options.idle_rank = std::atoi(value);
    if (word == "--linger") options.linger = std::atoi(value);
  }
  return options;
}

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

const int rank = std::atoi(variable("RANK", "0").c_str());
const int ranks = std::atoi(variable("WORLD_SIZE", "1").c_str());

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "rank %d: %s\n", rank, what.c_str());
  std::exit(1);
}

template <class Function>
Function* find(void* library, const char* name) {
  void* function = ::dlsym(library, name);
  if (!function) give_up(std::string("no ") + name);
  return reinterpret_cast<Function*>(function);
}

void* open(const char* name) {
  void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) give_up(::dlerror());
  return library;
}

struct Cuda {
  void* library = open("libcuda.so.1");
  decltype(&cuInit) init = find<decltype(cuInit)>(library, "cuInit");
  decltype(&cuDevicePrimaryCtxRetain) retain =
      find<decltype(cuDevicePrimaryCtxRetain)>(library, "cuDevicePrimaryCtxRetain");
  decltype(&cuCtxSetCurrent) set_current =
      find<decltype(cuCtxSetCurrent)>(library, "cuCtxSetCurrent");
  decltype(&cuMemAlloc_v2) allocate = find<decltype(cuMemAlloc_v2)>(library, "cuMemAlloc_v2");
  decltype(&cuMemcpyHtoD_v2) to_device =
      find<decltype(cuMemcpyHtoD_v2)>(library, "cuMemcpyHtoD_v2");
  decltype(&cuMemcpyDtoH_v2) to_host = find<decltype(cuMemcpyDtoH_v2)>(library, "cuMemcpyDtoH_v2");
  decltype(&cuStreamCreate) stream = find<decltype(cuStreamCreate)>(library, "cuStreamCreate");
  decltype(&cuStreamSynchronize) synchronize =
      find<decltype(cuStreamSynchronize)>(library, "cuStreamSynchronize");
};

struct Nccl {
  void* library = open("libnccl.so.2");
  decltype(&ncclGetUniqueId) unique_id =
      find<decltype(ncclGetUniqueId)>(library, "ncclGetUniqueId");
  decltype(&ncclCommInitRankConfig) init =
      find<decltype(ncclCommInitRankConfig)>(library, "ncclCommInitRankConfig");
  decltype(&ncclAllReduce) all_reduce = find<decltype(ncclAllReduce)>(library, "ncclAllReduce");
  decltype(&ncclCommGetAsyncError) state =
      find<decltype(ncclCommGetAsyncError)>(library, "ncclCommGetAsyncError");
  decltype(&ncclCommDestroy) destroy = find<decltype(ncclCommDestroy)>(library, "ncclCommDestroy");
  decltype(&ncclGetErrorString) text =
      find<decltype(ncclGetErrorString)>(library, "ncclGetErrorString");
  decltype(&ncclGetLastError) last = find<decltype(ncclGetLastError)>(library, "ncclGetLastError");

  /// Waits where the communicator does not block.
  void check(const char* call, ncclResult_t result, ncclComm_t comm) const {
    while (result == ncclInProgress) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      state(comm, &result);
    }
    if (result != ncclSuccess)
      give_up(std::string(call) + ": " + text(result) + "; last error: " + last(comm));
  }
};

sockaddr_in master() {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string host = variable("MASTER_ADDR", "127.0.0.1");
  if (::getaddrinfo(host.c_str(), variable("MASTER_PORT", "29500").c_str(), &hints, &found) != 0)
    give_up("no " + host);
  sockaddr_in address{};
  std::memcpy(&address, found->ai_addr, sizeof address);
  ::freeaddrinfo(found);
  return address;
}

/// Rank 0 serves the id to all others: the store of a process group in small.
void serve_id(const ncclUniqueId& id) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = master();
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, 64) != 0)
    give_up(std::string("MASTER_PORT: ") + std::strerror(errno));
  std::thread([listener, id] {
    for (;;) {
      const int connection = ::accept(listener, nullptr, nullptr);
      if (connection < 0) continue;
      (void)!::send(connection, &id, sizeof id, MSG_NOSIGNAL);
      ::close(connection);
    }
  }).detach();
}

ncclUniqueId fetch_id() {
  const sockaddr_in address = master();
  for (;;) {
    ncclUniqueId id;
    const int connection = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool there =
        ::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::recv(connection, &id, sizeof id, MSG_WAITALL) == static_cast<ssize_t>(sizeof id);
    ::close(connection);
    if (there) return id;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // rank 0 has not come yet
  }
}

ncclUniqueId common_id(const Nccl& nccl) {
  if (rank != 0) return fetch_id();
  ncclUniqueId id;
  nccl.check("ncclGetUniqueId", nccl.unique_id(&id), nullptr);
  serve_id(id);
  return id;
}

/// Each rank gives rank + step; all get the sum.
void step(int number, std::vector<float>& host, CUdeviceptr device, CUstream stream,
          const Cuda& cuda, const Nccl& nccl, ncclComm_t comm) {
  host.assign(host.size(), static_cast<float>(rank + number));
  cuda.to_device(device, host.data(), host.size() * sizeof(float));
  auto* memory = reinterpret_cast<void*>(device);
  nccl.check("ncclAllReduce",
             nccl.all_reduce(memory, memory, host.size(), ncclFloat32, ncclSum, comm,
                             reinterpret_cast<cudaStream_t>(stream)),
             comm);
  cuda.synchronize(stream);
  cuda.to_host(host.data(), device, host.size() * sizeof(float));
}

void check_sum(int number, const std::vector<float>& host) {
  const auto expected = static_cast<float>(ranks * (ranks - 1) / 2 + ranks * number);
  for (const float value : host)
    if (value != expected)
      give_up("wrong sum in step " + std::to_string(number) + ": " + std::to_string(value));
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  while (rank == options.absent_rank) ::pause();
  const Cuda cuda;
  const Nccl nccl;
  CUcontext context = nullptr;
  const int device = std::atoi(variable("LOCAL_RANK", "0").c_str());
  if (cuda.init(0) != CUDA_SUCCESS || cuda.retain(&context, device) != CUDA_SUCCESS)
    give_up("CUDA does not work");
  cuda.set_current(context);

  ncclConfig_t config;
  config.blocking = options.blocking;
  ncclComm_t comm = nullptr;
  const ncclResult_t begun = nccl.init(&comm, ranks, common_id(nccl), rank, &config);
  nccl.check("ncclCommInitRankConfig", begun, comm);

  std::vector<float> host(options.count);
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  if (cuda.allocate(&memory, host.size() * sizeof(float)) != CUDA_SUCCESS) give_up("no memory");
  cuda.stream(&stream, CU_STREAM_NON_BLOCKING);
  while (rank == options.idle_rank) ::pause();
  for (int number = 0; number < options.steps; ++number) {
    step(number, host, memory, stream, cuda, nccl, comm);
    if (options.check_sums) check_sum(number, host);
  }
  std::this_thread::sleep_for(std::chrono::seconds(options.linger));
  nccl.destroy(comm);
  std::printf("rank %d: %d all_reduces of %zu floats are %s\n", rank, options.steps, host.size(),
              options.check_sums ? "right" : "done");
}
