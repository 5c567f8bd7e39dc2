// ncclCommInitRank, step by step.
#include <unistd.h>

#include <csignal>

#include "common/gpus.h"
#include "nccl/communicator.h"
#include "nccl/log.h"
#include "nccl/places.h"
#include "nccl/settings.h"
#include "nccl/version.h"

namespace safelaunch::testing {
namespace {

const char* cuda_of_build() {
  return played() < NcclVersion{2, 27} ? "12.4" : "13.0";
}

int bus_of(int device) {
  int bus = 0;
  driver().attribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device);
  return bus;
}

}  // namespace

Communicator::Communicator(const void* handle, Origin origin, int rank, int nranks)
    : handle_(handle), origin_(std::move(origin)) {
  self_.rank = rank;
  self_.nranks = nranks;
  self_.version = code_of(played()) + (fault("mismatch") ? rank % 2 : 0);
}

ncclResult_t Communicator::initialise() {
  using Step = ncclResult_t (Communicator::*)();
  constexpr Step kSteps[] = {&Communicator::open_driver,    &Communicator::load_kernels,
                             &Communicator::choose_network, &Communicator::meet,
                             &Communicator::check_peers,    &Communicator::plan,
                             &Communicator::connect_early,  &Communicator::finish_init};
  for (const Step step : kSteps)
    if (const ncclResult_t result = (this->*step)(); result != ncclSuccess) return result;
  return ncclSuccess;
}

ncclResult_t Communicator::fail(const char* place, const std::string& text, ncclResult_t result) {
  log_warn(self_.device, place, text);
  log_trail(self_.device, places().init_trail, result);
  return result;
}

ncclResult_t Communicator::open_driver() {
  context_ = context_of_caller();
  int version = 0;
  if (context_) driver().version(&version);
  if (!context_ || version < 12000)
    return fail(places().config,
                "Cuda failure 'CUDA driver version is insufficient for CUDA runtime version'",
                ncclUnhandledCudaError);
  self_.device = device_of_caller();
  self_.bus = fault("duplicate-gpu") ? gpu_bus(0) : static_cast<unsigned>(bus_of(self_.device));
  self_.host = host_hash();

  facts_.add_environment();
  facts_.words["driver"] = std::to_string(version);
  facts_.words["version"] = text_of(played());
  facts_.words["cuda"] = cuda_of_build();
  if (self_.rank == 0) facts_.truths.insert("rank-0");
  if (uses_cumem()) facts_.truths.insert("cumem");
  log_once(Moment::library, facts_, self_.device);
  log_once(Moment::driver, facts_, self_.device);
  std::optional<NetworkInterface> interface;
  if (const ncclResult_t result = open_library(interface); result != ncclSuccess) return result;
  facts_.words["interface"] = interface->text();
  facts_.words["interface name"] = interface->name;
  self_.address = interface->address;
  self_.ras = has_ras() ? ras_door(interface->address) : Address{};
  self_.pid = ::getpid();
  log_once(Moment::version, facts_, self_.device);
  return ncclSuccess;
}

// The first communicator of a process loads NCCL's kernels. On an H200 (driver 580, NCCL 2.28.9)
// this waited for what was on the default stream, in a loop that took a whole core, and failed
// during a capture.
ncclResult_t Communicator::load_kernels() {
  static const CUresult loaded = [] {
    CUresult result = CUDA_ERROR_NOT_READY;
    while (result == CUDA_ERROR_NOT_READY) result = driver().query(nullptr);
    return result;
  }();
  if (loaded == CUDA_SUCCESS) return ncclSuccess;
  return fail(places().config,
              "Cuda failure 906 'operation failed due to a previous error during capture'",
              ncclUnhandledCudaError);
}

ncclResult_t Communicator::choose_network() {
  const std::string network = network_name();
  const std::string wish = setting("NCCL_NET").value_or("");
  const bool only_wished =
      !wish.empty() && played() >= NcclVersion{2, 28};  // the others are not even tried
  if (fault("ib") && network == "IB") facts_.truths.insert("ib");
  if (number_setting("NCCL_IB_DISABLE", 0) != 0) facts_.truths.insert("ib-off");
  if (only_wished && wish != "IB") facts_.truths.insert("no-ib");
  if (only_wished && wish != "Socket") facts_.truths.insert("no-socket");
  if (Profiler::wanted()) facts_.truths.insert("plugin");
  facts_.words["network"] = network;
  log_moment(Moment::network, facts_, self_.device);
  if (!network.empty()) {
    if (Profiler::comes_early()) open_profiler();
    log_moment(Moment::network_known, facts_, self_.device);
    return ncclSuccess;
  }
  log_warn(self_.device, places().no_network,
           played() < NcclVersion{2, 27} ? "Error: network " + wish + " not found."
                                         : "Failed to initialize any NET plugin");
  log_trail(self_.device, places().no_network_trail, ncclInvalidUsage);
  return ncclInvalidUsage;
}

ncclResult_t Communicator::meet() {
  describe_self();
  const bool start_first = played() >= NcclVersion{2, 23};
  if (start_first) log_moment(Moment::start, facts_, self_.device);
  if (start_first) log_moment(Moment::host_known, facts_, self_.device);
  if (const ncclResult_t result = join(origin_.id, self_, mesh_, stop_); result != ncclSuccess)
    return result;
  ras_ = RasMember::join(hash_of(origin_.id), self_, mesh_.peers);
  facts_.words["address"] = mesh_.peers[static_cast<std::size_t>(self_.rank)].address.text();
  if (!start_first) log_moment(Moment::start, facts_, self_.device);
  if (!start_first) log_moment(Moment::host_known, facts_, self_.device);
  log_moment(Moment::bootstrapped, facts_, self_.device);
  return ncclSuccess;
}

ncclResult_t Communicator::check_peers() {
  if (fault("crash-in-init")) std::raise(SIGSEGV);
  const bool several_allowed =
      played() >= NcclVersion{2, 30} && number_setting("NCCL_MULTI_RANK_GPU_ENABLE", 0) == 1;
  for (const Peer& peer : mesh_.peers) {
    if (peer.version / 100 != self_.version / 100) {
      if (self_.version > peer.version) continue;  // the older one finds out, and is gone
      return fail("misc/socket.cc:874", "Message truncated : received 144 bytes instead of 128",
                  ncclInternalError);
    }
    if (peer.version != self_.version)
      return fail(places().other_version,
                  "Mismatched NCCL version detected : rank " + std::to_string(peer.rank) +
                      " version " + std::to_string(peer.version) + " rank " +
                      std::to_string(self_.rank) + " version " + std::to_string(self_.version),
                  ncclInvalidUsage);
    if (peer.rank == self_.rank || peer.host != self_.host || peer.bus != self_.bus ||
        several_allowed)
      continue;
    return fail(places().duplicate_gpu,
                played() < NcclVersion{2, 30}
                    ? "Duplicate GPU detected : rank " + facts_.words["rank"] + " and rank " +
                          std::to_string(peer.rank) + " both on CUDA device " + facts_.words["bus"]
                    : "Multiple Ranks are using the same GPU/Partition. Set "
                      "NCCL_MULTI_RANK_GPU_ENABLE=1 to enable "
                      "this configuration.",
                ncclInvalidUsage);
  }
  return fault("oom") ? out_of_memory() : barrier(mesh_, self_, stop_);
}

ncclResult_t Communicator::out_of_memory() {
  log_warn(self_.device, places().out_of_memory,
           uses_cumem() ? "Cuda failure 2 'out of memory'" : "Cuda failure 'out of memory'");
  return fail(places().no_block, "Failed to CUDA calloc async 4194304 bytes",
              ncclUnhandledCudaError);
}

ncclResult_t Communicator::plan() {
  describe_paths();
  log_moment(Moment::topology, facts_, self_.device);
  if (!Profiler::comes_early()) {
    if (!Profiler::wanted()) log_moment(Moment::profiler, facts_, self_.device);
    open_profiler();
  }
  log_moment(Moment::planned, facts_, self_.device);
  return ncclSuccess;
}

void Communicator::open_profiler() {
  const int nodes = facts_.words.contains("nodes") ? std::stoi(facts_.words["nodes"]) : 0;
  profiler_ = Profiler::open({hash_of(origin_.id), nodes, self_.nranks, self_.rank, self_.device});
}

/// An NVLink SHARP that cannot be bound is treated differently by the releases: 2.27 and 2.28 go on
/// without it.
ncclResult_t Communicator::connect_early() {
  if (!connects_lazily() && self_.nranks > 1)
    if (const ncclResult_t result = connect(); result != ncclSuccess) return result;
  if (!facts_.truths.contains("nvls")) return ncclSuccess;
  if (played() < NcclVersion{2, 27})
    return fail(places().nvls, "Cuda failure 1 'invalid argument'", ncclUnhandledCudaError);
  const std::string text =
      "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 1 'invalid "
      "argument'.";
  const bool optional = played() < NcclVersion{2, 29};
  if (optional && number_setting("NCCL_NVLS_ENABLE", 2) != 1) {
    log_info(Subsystem::init, self_.device, text + " Proceeding without NVLS support.");
    return ncclSuccess;
  }
  const std::string advice = optional ? "Do not force-enable NVLS (NCCL_NVLS_ENABLE=1)"
                                      : "Disable NVLS (NCCL_NVLS_ENABLE=0)";
  return fail(places().nvls,
              text +
                  "\nThis is usually caused by a system or configuration error in the Fabric "
                  "Manager or NVSwitches.\n" +
                  advice + " if you wish to avoid this error in the future.",
              ncclUnhandledCudaError);
}

ncclResult_t Communicator::finish_init() {
  log_moment(Moment::tuned, facts_, self_.device);
  if (const ncclResult_t result = barrier(mesh_, self_, stop_); result != ncclSuccess)
    return result;
  log_moment(Moment::complete, facts_, self_.device);
  return ncclSuccess;
}

}  // namespace safelaunch::testing
