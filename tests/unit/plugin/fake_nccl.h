#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <type_traits>

#include "catch.h"
#include "plugin/library/profiler_abi.h"

namespace safelaunch::testing {

/// The plugin's library, loaded as NCCL loads it, and fresh: its knowledge belongs to a process,
/// and it is never unloaded, so each has a file of its own.
class LoadedPlugin {
 public:
  LoadedPlugin() {
    std::string name = (std::filesystem::temp_directory_path() / "plugin-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    const std::filesystem::path file = std::filesystem::path(name) / "libsafelaunch-nccl.so";
    std::filesystem::copy_file(SAFELAUNCH_PLUGIN_LIBRARY, file);
    handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    std::filesystem::remove_all(name);
    REQUIRE(handle_ != nullptr);
  }

  template <class Table>
  Table& table(const char* symbol) {
    auto* found = static_cast<Table*>(::dlsym(handle_, symbol));
    REQUIRE(found != nullptr);
    return *found;
  }

 private:
  void* handle_ = nullptr;
};

using TableV1 = plugin::ProfilerTable<plugin::InitV1, plugin::EventV1>;
using TableV4 = plugin::ProfilerTable<plugin::InitV4, plugin::EventV1>;
using TableV5 = plugin::ProfilerTable<plugin::InitV5, plugin::EventV5>;

/// NCCL up to 2.27: its calls for a collective, with the event that its version makes.
template <class Table>
struct OldNccl {
  Table& table;
  int mask = 0;
  void* context = nullptr;

  /// True if it told of the collective: it does where the group got a handle, and the mask asks.
  template <class Collective>
  bool all_reduce(const Collective& collective) {
    void* group = start(plugin::kGroup, plugin::EventV1{plugin::kGroup, nullptr, 0});
    if (group == nullptr) return false;
    if ((mask & plugin::kCollective) == 0) return false;
    void* handle = nullptr;
    REQUIRE(table.start_event(context, &handle, &collective.head) == 0);
    if (handle != nullptr) table.stop_event(handle);
    table.stop_event(group);
    return true;
  }

 private:
  void* start(int bit, const plugin::EventV1& event) {
    void* handle = nullptr;
    if ((mask & bit) != 0) REQUIRE(table.start_event(context, &handle, &event) == 0);
    return handle;
  }
};

/// NCCL from 2.28 on: the calls of one communicator.
class NewNccl {
 public:
  NewNccl(TableV5& table, int& mask, std::uint64_t id, int rank, int size)
      : table_(table), mask_(mask) {
    REQUIRE(table.init(&context_, id, &mask, "a name", 1, size, rank, nullptr) == 0);
  }

  struct Call {
    void* stream = nullptr;
    bool captured = false;
    bool by_kernel = true;
  };

  void all_reduce(Call call) {
    begin(call);
    launch(call);
    end();
  }
  /// The parts of it: what the program's call does, what puts the kernel into the stream, and the
  /// end of the group.
  void begin(Call call) {
    plugin::EventV5 group{plugin::kGroupApi, nullptr, 0};
    group_ = start(plugin::kGroupApi, group);
    add(call);
  }
  /// Another one in the same group.
  void add(Call call) {
    plugin::CollectiveApiV5 event{{plugin::kCollectiveApi, group_, 0},
                                  "AllReduce",
                                  1024,
                                  "float",
                                  0,
                                  call.stream,
                                  call.captured};
    void* handle = start(plugin::kCollectiveApi, event.head);
    if (handle != nullptr) stop(handle);
  }
  void launch(Call call) {
    if (!call.by_kernel) return;
    plugin::KernelLaunchV5 event{{plugin::kKernelLaunch, group_, 0}, call.stream};
    void* handle = start(plugin::kKernelLaunch, event.head);
    if (handle != nullptr) stop(handle);
  }
  void end() {
    if (group_ != nullptr) stop(group_);
    group_ = nullptr;
  }

  void destroy() { REQUIRE(table_.finalize(context_) == 0); }

  [[nodiscard]] bool is_watched() const { return context_ != nullptr; }
  /// How often the plugin was called.
  [[nodiscard]] int calls() const { return calls_; }

 private:
  void* start(int bit, const plugin::EventV5& event) {
    void* handle = nullptr;
    if ((mask_ & bit) == 0) return handle;
    ++calls_;
    REQUIRE(table_.start_event(context_, &handle, &event) == 0);
    return handle;
  }
  void stop(void* handle) {
    ++calls_;
    REQUIRE(table_.stop_event(handle) == 0);
  }

  TableV5& table_;
  int& mask_;
  void* context_ = nullptr;
  void* group_ = nullptr;
  int calls_ = 0;
};

}  // namespace safelaunch::testing
