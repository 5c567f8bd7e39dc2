#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "nccl/collective.h"

namespace safelaunch::testing {

/// The facts of a communicator that a profiler plugin is told.
struct ProfiledComm {
  std::uint64_t id;
  int nodes;
  int nranks;
  int rank;
  int device;
};

/// The plugin that NCCL_PROFILER_PLUGIN names, for one communicator. Looked for by the newest
/// interface that the played release knows, down to v1, and called in its order.
class Profiler {
 public:
  /// Opens the plugin and calls its init; null if there is none or it does not want to.
  static std::unique_ptr<Profiler> open(const ProfiledComm& comm);
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  /// Is a plugin named, so that NCCL does not say that it found none?
  [[nodiscard]] static bool wanted();

  /// Does this release call the plugin's init before the bootstrap (up to 2.26) or after it?
  [[nodiscard]] static bool comes_early();

  /// The application's call, before anything is connected for it.
  void called(const Operation& operation, void* stream);

  /// The launch: `launch` puts the operation on the stream.
  template <class Launch>
  auto around(const Operation& operation, void* stream, Launch launch) {
    before(stream);
    auto result = launch();
    after(operation);
    return result;
  }

 private:
  struct Table;
  class Description;

  Profiler(const Table& table, int interface_version, const ProfiledComm& comm);
  bool begin();
  void before(void* stream);
  void after(const Operation& operation);
  void tasks(const Operation& operation);
  void* start(Description& description);
  void stop(void*& handle);

  const Table& table_;
  const int interface_;
  const ProfiledComm comm_;
  void* context_ = nullptr;
  void* group_api_ = nullptr;
  void* collective_api_ = nullptr;
  void* kernel_ = nullptr;
  std::uint64_t sequence_ = 0;
};

}  // namespace safelaunch::testing
