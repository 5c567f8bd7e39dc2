// The calls that make, ask and end communicators.
#include <algorithm>
#include <cstring>
#include <future>
#include <tuple>

#include "nccl/api.h"
#include "nccl/log.h"
#include "nccl/places.h"
#include "nccl/settings.h"
#include "nccl/version.h"

namespace safelaunch::testing {
namespace {

/// Does this communicator block? NCCL_COMM_BLOCKING beats what the application says.
bool blocks(const ncclConfig_t* config) {
  const long otherwise = config && config->blocking != NCCL_CONFIG_UNDEF_INT ? config->blocking : 1;
  return number_setting("NCCL_COMM_BLOCKING", otherwise) != 0;
}

ncclResult_t make(ncclComm_t* handle, int nranks, Origin origin, int rank,
                  const ncclConfig_t* config) {
  if (config && config->magic != ncclConfig_t{}.magic) {
    log_warn(device_of_caller(), places().config,
             "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
    return ncclInvalidArgument;
  }
  if (nranks < 1 || rank < 0 || rank >= nranks) {
    log_warn(device_of_caller(), places().config,
             "Invalid rank requested : " + std::to_string(rank) + "/" + std::to_string(nranks));
    return ncclInvalidArgument;
  }
  auto* comm = new ncclComm;
  comm->body = std::make_shared<Communicator>(comm, std::move(origin), rank, nranks);
  comm->blocking = blocks(config);
  *handle = comm;
  const ncclResult_t result =
      do_or_begin(comm, [body = comm->body.get()] { return body->initialise(); });
  if (result == ncclSuccess || result == ncclInProgress) return result;
  *handle = nullptr;
  delete comm;
  return result;
}

/// One rank's wish in a split, and the root that it would be.
struct Wish {
  int color;
  int key;
  int rank;
  ncclUniqueId id;
};

/// Those of one color, in the order of their new ranks.
std::vector<Wish> group_of(int color, const std::vector<std::vector<char>>& wishes) {
  std::vector<Wish> group;
  for (const auto& bytes : wishes) {
    Wish wish{};
    std::memcpy(&wish, bytes.data(), sizeof wish);
    if (wish.color == color) group.push_back(wish);
  }
  std::sort(group.begin(), group.end(), [](const Wish& a, const Wish& b) {
    return std::tie(a.key, a.rank) < std::tie(b.key, b.rank);
  });
  return group;
}

std::string origin_text(const Communicator& parent, int color, int key) {
  const char* count = played() < NcclVersion{2, 29} ? " splitCount 1" : " childCount 1";
  return "parent " + parent.facts().words.at("comm") + count + " color " + std::to_string(color) +
         " key " + std::to_string(key);
}

ncclResult_t split(Communicator& parent, int color, int key, ncclComm_t* child,
                   const ncclConfig_t* config) {
  Wish mine{color, key, parent.self().rank, {}};
  if (const ncclResult_t result = ncclGetUniqueId(&mine.id); result != ncclSuccess) return result;
  const char* bytes = reinterpret_cast<const char*>(&mine);
  std::vector<std::vector<char>> wishes;
  if (const ncclResult_t result = parent.exchange({bytes, bytes + sizeof mine}, wishes);
      result != ncclSuccess)
    return result;
  *child = nullptr;
  if (color == NCCL_SPLIT_NOCOLOR) return ncclSuccess;
  const std::vector<Wish> group = group_of(color, wishes);
  const auto own = std::find_if(group.begin(), group.end(),
                                [&](const Wish& one) { return one.rank == mine.rank; });
  return make(child, static_cast<int>(group.size()),
              {"ncclCommSplit", group.front().id, origin_text(parent, color, key)},
              static_cast<int>(own - group.begin()), config);
}

/// The ranks of the parent that are not excluded, in order.
std::vector<int> ranks_left(const Communicator& parent, const int* excluded, int count) {
  std::vector<int> left;
  for (int rank = 0; rank < parent.self().nranks; ++rank)
    if (std::find(excluded, excluded + count, rank) == excluded + count) left.push_back(rank);
  return left;
}

ncclResult_t shrink(Communicator& parent, const std::vector<int>& left, ncclComm_t* child,
                    const ncclConfig_t* config) {
  const auto own = std::find(left.begin(), left.end(), parent.self().rank);
  if (own == left.end()) return ncclInvalidArgument;
  ncclUniqueId id{};
  if (own == left.begin())
    if (const ncclResult_t result = ncclGetUniqueId(&id); result != ncclSuccess) return result;
  if (const ncclResult_t result = parent.share_id(left, id); result != ncclSuccess) return result;
  return make(child, static_cast<int>(left.size()), {"ncclCommShrink", id, ""},
              static_cast<int>(own - left.begin()), config);
}

/// One rank of ncclCommInitAll, by a thread of its own, because the ranks wait for each other.
ncclResult_t make_on(int device, ncclComm_t* comm, int nranks, const ncclUniqueId& id, int rank) {
  CUcontext context = nullptr;
  if (!driver().found() || driver().init(0) != CUDA_SUCCESS ||
      driver().retain(&context, device) != CUDA_SUCCESS)
    return ncclUnhandledCudaError;
  driver().set_current(context);
  return make(comm, nranks, {"ncclCommInitAll", id, ""}, rank, nullptr);
}

ncclResult_t end(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  comm->body->drain();
  delete comm;
  return ncclSuccess;
}

}  // namespace

ncclResult_t ready(ncclComm_t comm) {
  if (!comm) return ncclInvalidArgument;
  const ncclResult_t state = comm->body->state();
  if (state != ncclInProgress) return state;
  log_warn(comm->body->self().device, places().config,
           "Attempt to use communicator before the previous operation returned ncclSuccess");
  return ncclInvalidArgument;
}

}  // namespace safelaunch::testing

using namespace safelaunch::testing;

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::optional<NetworkInterface> interface;
  if (const ncclResult_t result = open_library(interface); result != ncclSuccess) return result;
  start_root(*interface, *id);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank) {
  return make(comm, nranks, {"ncclCommInitRank", id, ""}, rank, nullptr);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return make(comm, nranks, {"ncclCommInitRankConfig", id, ""}, rank, config);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int nranks, int rank, int,
                                      ncclUniqueId* ids, ncclConfig_t* config) {
  return make(comm, nranks, {"ncclCommInitRankScalable", ids[0], ""}, rank, config);
}

ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t* child,
                           ncclConfig_t* config) {
  if (const ncclResult_t result = ready(parent); result != ncclSuccess) return result;
  return split(*parent->body, color, key, child, config);
}

ncclResult_t ncclCommShrink(ncclComm_t parent, int* excluded, int count, ncclComm_t* child,
                            ncclConfig_t* config, int flags) {
  if (const ncclResult_t result = ready(parent); result != ncclSuccess) return result;
  if (flags != NCCL_SHRINK_DEFAULT) return refused("ncclCommShrink with NCCL_SHRINK_ABORT");
  return shrink(*parent->body, ranks_left(*parent->body, excluded, count), child, config);
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  ncclUniqueId id{};
  if (const ncclResult_t result = ncclGetUniqueId(&id); result != ncclSuccess) return result;
  std::vector<std::future<ncclResult_t>> ranks;
  for (int rank = 0; rank < count; ++rank)
    ranks.push_back(std::async(std::launch::async, make_on, devices ? devices[rank] : rank,
                               &comms[rank], count, id, rank));
  ncclResult_t worst = ncclSuccess;
  for (auto& rank : ranks)
    if (const ncclResult_t result = rank.get(); result != ncclSuccess) worst = result;
  return worst;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return comm ? ncclSuccess : ncclInvalidArgument;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return end(comm);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  comm->body->abort();
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  if (!comm) return ncclInvalidArgument;
  *state = comm->body->state();
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  if (const ncclResult_t result = ready(comm); result != ncclSuccess) return result;
  *count = comm->body->self().nranks;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  if (const ncclResult_t result = ready(comm); result != ncclSuccess) return result;
  *rank = comm->body->self().rank;
  return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  if (const ncclResult_t result = ready(comm); result != ncclSuccess) return result;
  *device = comm->body->self().device;
  return ncclSuccess;
}

ncclResult_t ncclGetVersion(int* version) {
  *version = code_of(played());
  return ncclSuccess;
}

const char* ncclGetLastError(ncclComm_t) {
  return last_error();
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    default: return "unknown result code";
  }
}
