#include <array>
#include <atomic>

#include "profiler_abi.h"
#include "witness.h"

// The symbols that NCCL looks up: ncclProfiler_v1 to v5. It takes the newest that it knows.
// Up to v4 NCCL tells of a collective when it is enqueued, and only to a plugin that returned
// something for the group around it; v5 tells of the call itself and of the launch of its kernel,
// with the stream.
namespace safelaunch::plugin {
namespace {

constexpr const char* kName = "safelaunch";
constexpr int kEventsV1 = kGroup | kCollective;
constexpr int kEventsV5 = kGroupApi | kCollectiveApi | kKernelLaunch;

int ignore_stop(void*) {
  return 0;
}

int ignore_state(void*, int, void*) {
  return 0;
}

int finalize(void* context) {
  if (context != nullptr) witness.leave(*static_cast<Communicator*>(context));
  return 0;
}

// ---- v1 to v4 -----------------------------------------------------------------------------------

template <int api>
int init_v1(void** context, int* mask) {
  *context = witness.join(api, kEventsV1, {.mask = mask});
  return 0;
}

int init_v4(void** context, int* mask, const char*, std::uint64_t hash, int, int size, int rank,
            LogFunction) {
  *context = witness.join(4, kEventsV1,
                          {.mask = mask, .id = hash, .rank = rank, .size = size, .met = true});
  return 0;
}

const char* op_of(std::uint8_t function) {
  constexpr std::array kNames{"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                              "AllReduce", "SendRecv", "Send",      "Recv"};
  return function < kNames.size() ? kNames[function] : "";
}

const char* op_of(const char* function) {
  return function != nullptr ? function : "";
}

template <class Collective>
CollectiveCall call_of(const Collective& event) {
  CollectiveCall call{.op = op_of(event.function), .count = event.count, .rank = event.head.rank};
  if constexpr (requires { event.communicator_hash; }) call.communicator = event.communicator_hash;
  return call;
}

template <class Collective>
int start_event_v1(void* context, void** handle, const EventV1* event) {
  *handle = nullptr;
  if (context == nullptr || !witness.listens()) return 0;
  auto& communicator = *static_cast<Communicator*>(context);
  if (event->type == kGroup)
    *handle = context;
  else if (event->type == kCollective)
    witness.call(communicator, call_of(reinterpret_cast<const Collective&>(*event)));
  return 0;
}

// ---- v5 -----------------------------------------------------------------------------------------

int init_v5(void** context, std::uint64_t id, int* mask, const char*, int, int size, int rank,
            LogFunction) {
  *context =
      witness.join(5, kEventsV5, {.mask = mask, .id = id, .rank = rank, .size = size, .met = true});
  return 0;
}

// Makes a handle: a communicator for a launch, or the number of a group, which is odd so that the
// two differ.
void* new_group() {
  static constinit std::atomic<std::uintptr_t> last = 1;
  return reinterpret_cast<void*>(last.fetch_add(2, std::memory_order_relaxed));
}

bool is_group(void* handle) {
  return reinterpret_cast<std::uintptr_t>(handle) % 2 == 1;
}

void call_v5(Communicator& communicator, const CollectiveApiV5& event) {
  // Under capture nothing runs, so the next collective that does run is the first one.
  if (event.graph_captured) return;
  witness.call(communicator, {.op = op_of(event.function),
                              .count = event.count,
                              .group = event.head.parent,
                              .stream = event.stream,
                              .can_be_followed = true});
}

bool launch_v5(Communicator& communicator, const KernelLaunchV5& event) {
  return witness.launching(communicator, event.stream);
}

int start_event_v5(void* context, void** handle, const EventV5* event) {
  *handle = nullptr;
  if (context == nullptr || !witness.listens()) return 0;
  auto& communicator = *static_cast<Communicator*>(context);
  if (event->type == kGroupApi)
    *handle = new_group();
  else if (event->type == kCollectiveApi)  // no handle, or NCCL would stop it with every later call
    call_v5(communicator, reinterpret_cast<const CollectiveApiV5&>(*event));
  else if (event->type == kKernelLaunch &&
           launch_v5(communicator, reinterpret_cast<const KernelLaunchV5&>(*event)))
    *handle = context;
  return 0;
}

int stop_event_v5(void* handle) {
  if (handle == nullptr || is_group(handle) || !witness.listens()) return 0;
  witness.launched(*static_cast<Communicator*>(handle));
  return 0;
}

}  // namespace
}  // namespace safelaunch::plugin

// ---- the symbols --------------------------------------------------------------------------------

using namespace safelaunch::plugin;

extern "C" {
// The table is not const, since NCCL writes to it.
[[gnu::visibility("default")]] constinit ProfilerTable<InitV1, EventV1> ncclProfiler_v1{
    kName, init_v1<1>, start_event_v1<CollectiveV1>, ignore_stop, ignore_state, finalize};
[[gnu::visibility("default")]] constinit ProfilerTable<InitV1, EventV1> ncclProfiler_v2{
    kName, init_v1<2>, start_event_v1<CollectiveV2>, ignore_stop, ignore_state, finalize};
[[gnu::visibility("default")]] constinit ProfilerTable<InitV1, EventV1> ncclProfiler_v3{
    kName, init_v1<3>, start_event_v1<CollectiveV2>, ignore_stop, ignore_state, finalize};
[[gnu::visibility("default")]] constinit ProfilerTable<InitV4, EventV1> ncclProfiler_v4{
    kName, init_v4, start_event_v1<CollectiveV4>, ignore_stop, ignore_state, finalize};
[[gnu::visibility("default")]] constinit ProfilerTable<InitV5, EventV5> ncclProfiler_v5{
    kName, init_v5, start_event_v5, stop_event_v5, ignore_state, finalize};
}
