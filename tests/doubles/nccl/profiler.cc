#include "nccl/profiler.h"

#include <dlfcn.h>
#include <strings.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "nccl/log.h"
#include "nccl/settings.h"
#include "nccl/version.h"

namespace safelaunch::testing {
namespace {

// Kinds of events, as bits of the mask.
constexpr int kGroup = 1;
constexpr int kCollective = 2;
constexpr int kPair = 4;
constexpr int kGroupApi = 256;
constexpr int kCollectiveApi = 512;
constexpr int kPairApi = 1024;
constexpr int kKernelLaunch = 2048;
constexpr int kKernelAndProxy = 8 | 16 | 64 | 128;

/// One for the process, and the plugin may write to it at any time.
int event_mask = 0;

using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

void log_for_plugin(int, unsigned long, const char*, int, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  log_info(Subsystem::profile, 0, text);
}

/// The newest interface of the played release, of those that this double knows.
int newest_interface() {
  const int code = code_of(played());
  if (code < 22300) return 0;
  if (code < 22400) return 1;
  if (code < 22600) return 2;
  if (code < 22700) return 3;
  return code < 22800 ? 4 : 5;
}

const char* type_text(ncclDataType_t type) {
  return type == ncclFloat32 ? "ncclFloat32" : "ncclOther";
}

bool is_pair(const Operation& operation) {
  return operation.kind == Operation::Kind::send || operation.kind == Operation::Kind::receive;
}

void log_mask(int device) {
  struct NamedBit {
    int bit;
    const char* name;
  };
  constexpr NamedBit kNamedBits[] = {{kGroup, "Group "},
                                     {kCollective, "Coll "},
                                     {kPair, "P2p "},
                                     {kGroupApi, "GroupApi "},
                                     {kCollectiveApi, "CollApi "},
                                     {kPairApi, "P2pApi "},
                                     {kKernelLaunch, "KernelLaunch "}};
  if (event_mask == 0 || played() < NcclVersion{2, 29}) return;
  std::string names;
  for (const NamedBit& one : kNamedBits)
    if (event_mask & one.bit) names += one.name;
  char text[256];
  std::snprintf(text, sizeof text, "Profiler event mask: 0x%x (%d) - Enabled: %s",
                static_cast<unsigned>(event_mask), event_mask, names.c_str());
  log_info(Subsystem::init, device, text);
}

void* open_library(const std::string& name) {
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library ? library
                 : ::dlopen(("libnccl-profiler-" + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

/// The table to which ncclProfiler_v1 to _v5 point: the same six words in all of them; init's
/// arguments differ.
struct Profiler::Table {
  const char* name;
  void* init;
  ncclResult_t (*start)(void* context, void** handle, void* description);
  ncclResult_t (*stop)(void* handle);
  ncclResult_t (*record)(void* handle, int state, void* arguments);
  ncclResult_t (*finalize)(void* context);
};

/// An event's description, written by offset, since its layout is another in each interface.
class Profiler::Description {
 public:
  Description(int interface_version, int type, void* parent) {
    if (interface_version >= 5)
      put(0, static_cast<std::uint64_t>(type));
    else
      put(0, static_cast<std::uint8_t>(type));
    put(8, parent);
  }

  template <class Value>
  void put(std::size_t offset, Value value) {
    std::memcpy(bytes_ + offset, &value, sizeof value);
  }
  [[nodiscard]] void* bytes() { return bytes_; }

 private:
  alignas(8) unsigned char bytes_[128] = {};
};

bool Profiler::wanted() {
  return setting("NCCL_PROFILER_PLUGIN").has_value();
}
bool Profiler::comes_early() {
  return played() < NcclVersion{2, 27};
}

std::unique_ptr<Profiler> Profiler::open(const ProfiledComm& comm) {
  const std::string name = setting("NCCL_PROFILER_PLUGIN").value_or("");
  if (name.empty() || newest_interface() == 0) return nullptr;
  log_info(Subsystem::env, comm.device, "NCCL_PROFILER_PLUGIN set by environment to " + name);
  if (::strcasecmp(name.c_str(), "none") == 0) return nullptr;
  void* library = open_library(name);
  if (!library) {
    log_info(Subsystem::init, comm.device, "PROFILER/Plugin: Could not find: " + name);
    return nullptr;
  }
  for (int version = newest_interface(); version >= 1; --version) {
    const auto* table = static_cast<const Table*>(
        ::dlsym(library, ("ncclProfiler_v" + std::to_string(version)).c_str()));
    if (!table) continue;
    log_info(Subsystem::init, comm.device,
             "PROFILER/Plugin: Loaded " + std::string(table->name) + " (v" +
                 std::to_string(version) + ")");
    if (played() >= NcclVersion{2, 27})
      log_info(Subsystem::init, comm.device,
               "Successfully loaded external profiler plugin " + name);
    std::unique_ptr<Profiler> profiler(new Profiler(*table, version, comm));
    return profiler->begin() ? std::move(profiler) : nullptr;
  }
  log_info(Subsystem::init, comm.device, "External profiler plugin " + name + " is unsupported");
  return nullptr;
}

Profiler::Profiler(const Table& table, int interface_version, const ProfiledComm& comm)
    : table_(table), interface_(interface_version), comm_(comm) {}

Profiler::~Profiler() {
  if (context_) table_.finalize(context_);
}

bool Profiler::begin() {
  ncclResult_t result = ncclSuccess;
  const char* comm_name = nullptr;
  if (interface_ <= 3) {
    using Init = ncclResult_t (*)(void**, int*);
    result = reinterpret_cast<Init>(table_.init)(&context_, &event_mask);
  } else if (interface_ == 4) {
    using Init = ncclResult_t (*)(void**, int*, const char*, std::uint64_t, int, int, int, Logger);
    result =
        reinterpret_cast<Init>(table_.init)(&context_, &event_mask, comm_name, comm_.id,
                                            comm_.nodes, comm_.nranks, comm_.rank, &log_for_plugin);
  } else {
    using Init = ncclResult_t (*)(void**, std::uint64_t, int*, const char*, int, int, int, Logger);
    result =
        reinterpret_cast<Init>(table_.init)(&context_, comm_.id, &event_mask, comm_name,
                                            comm_.nodes, comm_.nranks, comm_.rank, &log_for_plugin);
  }
  if (result != ncclSuccess)
    log_info(Subsystem::init, comm_.device,
             "Profiler init failed with error '" + std::to_string(result) +
                 "'. Continue without profiler.");
  log_mask(comm_.device);
  return result == ncclSuccess;
}

void* Profiler::start(Description& description) {
  void* handle = nullptr;
  table_.start(context_, &handle, description.bytes());
  return handle;
}

void Profiler::stop(void*& handle) {
  if (handle) table_.stop(handle);
  handle = nullptr;
}

/// From 2.28 on: the call itself. As in NCCL it is told to a plugin that asked for anything beneath
/// it, too.
void Profiler::called(const Operation& operation, void* stream) {
  if (interface_ < 5 || event_mask == 0) return;
  Description group(interface_, kGroupApi, nullptr);
  group_api_ = start(group);
  const bool pair = is_pair(operation);
  if (event_mask & ((pair ? kPairApi | kPair : kCollectiveApi | kCollective) | kKernelAndProxy)) {
    Description call(interface_, pair ? kPairApi : kCollectiveApi, group_api_);
    call.put(24, operation.name);
    call.put(32, operation.count);
    call.put(40, type_text(operation.type));
    if (!pair) call.put(48, operation.root);
    call.put(pair ? 48 : 56, stream);
    collective_api_ = start(call);
    table_.stop(collective_api_);
  }
}

void Profiler::before(void* stream) {
  if (interface_ < 5 || !(event_mask & kKernelLaunch)) return;
  Description kernel(interface_, kKernelLaunch, group_api_);
  kernel.put(24, stream);
  kernel_ = start(kernel);
}

void Profiler::after(const Operation& operation) {
  stop(kernel_);
  if (event_mask != 0) tasks(operation);
  ++sequence_;
  stop(group_api_);
}

/// A group and the collective in it. "Stop" means that it has been enqueued, not that it is done.
void Profiler::tasks(const Operation& operation) {
  if (!(event_mask & (kGroup | kCollective | kPair | kKernelAndProxy))) return;
  Description description(interface_, kGroup, nullptr);
  description.put(16, comm_.rank);
  void* group = start(description);
  const bool group_needed = played() < NcclVersion{2, 28};
  const bool pair = is_pair(operation);
  if ((event_mask & ((pair ? kPair : kCollective) | kKernelAndProxy)) && (group || !group_needed)) {
    Description task(interface_, pair ? kPair : kCollective,
                     interface_ >= 5 ? collective_api_ : group);
    task.put(16, comm_.rank);
    const bool hash_inside = interface_ <= 3;
    const std::uint64_t hash =
        played() < NcclVersion{2, 29} ? comm_.id : 0;  // lost on the way down to v3
    if (hash_inside) task.put(32, hash);
    const std::size_t base = hash_inside ? 40 : 24;
    if (!pair) task.put(base, sequence_);
    const std::size_t function = pair ? base : base + 8;
    if (interface_ == 1)
      task.put(function, static_cast<std::uint8_t>(operation.kind));
    else
      task.put(function, operation.name);
    void* handle = start(task);
    stop(handle);
  }
  stop(group);
  collective_api_ = nullptr;
}

}  // namespace safelaunch::testing
