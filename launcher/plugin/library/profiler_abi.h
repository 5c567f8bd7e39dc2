#pragma once

#include <cstddef>
#include <cstdint>

/// The part of NCCL's profiler interface that we use, of its versions 1 to 5, written down from its
/// measured layout. NCCL makes the events, so only the fields that we read are declared, up to the
/// last such field.
namespace safelaunch::plugin {

// Bits of the mask by which a plugin asks for events. Never 64, the start and stop of kernels
// (docs/plugin.md tells why).
inline constexpr int kGroup = 1;
inline constexpr int kCollective = 2;
inline constexpr int kGroupApi = 256;
inline constexpr int kCollectiveApi = 512;
inline constexpr int kKernelLaunch = 2048;

/// NCCL goes on whatever these functions return; 0 is success.
using LogFunction = void (*)(int level, unsigned long flags, const char* file, int line,
                             const char* format, ...);
using InitV1 = int (*)(void** context, int* mask);  // v2 and v3 too
using InitV4 = int (*)(void** context, int* mask, const char* name, std::uint64_t hash, int nodes,
                       int size, int rank, LogFunction log);
using InitV5 = int (*)(void** context, std::uint64_t id, int* mask, const char* name, int nodes,
                       int size, int rank, LogFunction log);

/// The exported symbol ncclProfiler_vN.
template <class Init, class Event>
struct ProfilerTable {
  const char* name;
  Init init;
  int (*start_event)(void* context, void** handle, const Event* event);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

/// The fields with which every event begins.
struct EventV1 {  // to v4
  std::uint8_t type;
  void* parent;
  int rank;
};
struct EventV5 {
  std::uint64_t type;
  void* parent;
  int rank;
};

/// kCollective
struct CollectiveV1 {
  EventV1 head;
  const char* communicator_name;
  std::uint64_t communicator_hash;
  std::uint64_t sequence;
  std::uint8_t function;
  const void* send;
  void* receive;
  std::size_t count;
};
struct CollectiveV2 {  // v3 too
  EventV1 head;
  const char* communicator_name;
  std::uint64_t communicator_hash;
  std::uint64_t sequence;
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
};
struct CollectiveV4 {
  EventV1 head;
  std::uint64_t sequence;
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
};

/// The event kCollectiveApi.
struct CollectiveApiV5 {
  EventV5 head;
  const char* function;
  std::size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool graph_captured;
};

/// The event kKernelLaunch.
struct KernelLaunchV5 {
  EventV5 head;
  void* stream;
};

// These sizes were measured in NCCL 2.23 to 2.30.
static_assert(sizeof(ProfilerTable<InitV5, EventV5>) == 48);
static_assert(offsetof(EventV1, parent) == 8 && offsetof(EventV1, rank) == 16);
static_assert(offsetof(EventV5, parent) == 8 && offsetof(EventV5, rank) == 16);
static_assert(offsetof(CollectiveV1, communicator_hash) == 32);
static_assert(offsetof(CollectiveV1, function) == 48 && offsetof(CollectiveV1, count) == 72);
static_assert(offsetof(CollectiveV2, communicator_hash) == 32);
static_assert(offsetof(CollectiveV2, function) == 48 && offsetof(CollectiveV2, count) == 72);
static_assert(offsetof(CollectiveV4, function) == 32 && offsetof(CollectiveV4, count) == 56);
static_assert(offsetof(CollectiveApiV5, function) == 24 && offsetof(CollectiveApiV5, count) == 32);
static_assert(offsetof(CollectiveApiV5, stream) == 56);
static_assert(offsetof(CollectiveApiV5, graph_captured) == 64);
static_assert(offsetof(KernelLaunchV5, stream) == 24);

}  // namespace safelaunch::plugin
