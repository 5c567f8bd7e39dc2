#pragma once

#include "nccl/declarations.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "nccl/bootstrap.h"
#include "nccl/collective.h"
#include "nccl/driver.h"
#include "nccl/lines.h"
#include "nccl/profiler.h"
#include "nccl/ras.h"
#include "nccl/transport.h"

namespace safelaunch::testing {

/// How a communicator came to be, for its START and COMPLETE lines.
struct Origin {
  std::string function = "ncclCommInitRank";
  ncclUniqueId id{};
  std::string parent;  ///< "parent 0x… splitCount 1 color 0 key 0"; empty for one of its own
};

/// One rank's part of a communicator. Operations that lie on a stream hold it as long as they run.
class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  Communicator(const void* handle, Origin origin, int rank, int nranks);

  /// The whole of init, step by step as NCCL does it, with its lines and its faults.
  [[nodiscard]] ncclResult_t initialise();

  /// Connects, if that was left for the first call, and puts the operations on `stream`.
  [[nodiscard]] ncclResult_t launch(std::vector<Operation> operations, CUstream stream);

  /// Runs `work` by a thread of its own; until it is done the state is ncclInProgress.
  void run_apart(std::function<ncclResult_t()> work);

  /// ncclInProgress, or how the last thing that was run apart, or that failed in the background,
  /// ended.
  [[nodiscard]] ncclResult_t state() const { return state_; }

  /// Ends all waiting, here and on the streams.
  void abort();

  /// Waits for what lies on streams, for ever if need be, as ncclCommDestroy does.
  void drain();

  /// Every rank's bytes, for ncclCommSplit.
  [[nodiscard]] ncclResult_t exchange(const std::vector<char>& mine,
                                      std::vector<std::vector<char>>& all);

  /// A reduction of the application's own, and what it multiplies by; none if it is not known.
  [[nodiscard]] ncclRedOp_t add_reduction(const Factor& factor);
  [[nodiscard]] std::optional<Factor> factor(ncclRedOp_t reduction);
  [[nodiscard]] bool remove_reduction(ncclRedOp_t reduction);

  /// The ranks that are left take the id that the first of them gives: for ncclCommShrink.
  [[nodiscard]] ncclResult_t share_id(const std::vector<int>& ranks, ncclUniqueId& id);

  [[nodiscard]] const Peer& self() const { return self_; }
  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] bool aborted() const { return stop_.asked(); }

 private:
  // The steps of init.
  [[nodiscard]] ncclResult_t open_driver();
  [[nodiscard]] ncclResult_t load_kernels();
  [[nodiscard]] ncclResult_t choose_network();
  [[nodiscard]] ncclResult_t meet();
  [[nodiscard]] ncclResult_t check_peers();
  [[nodiscard]] ncclResult_t out_of_memory();
  [[nodiscard]] ncclResult_t plan();
  [[nodiscard]] ncclResult_t connect_early();
  [[nodiscard]] ncclResult_t finish_init();

  [[nodiscard]] ncclResult_t connect();
  [[nodiscard]] ncclResult_t fail(const char* place, const std::string& text, ncclResult_t result);
  [[nodiscard]] ncclResult_t not_launched(CUresult result) const;
  void open_profiler();
  void describe_self();
  void describe_paths();
  void describe_channels();
  void begin_turn();
  void run(const std::vector<Operation>& operations, long number);
  [[nodiscard]] bool hangs(long number) const;
  [[nodiscard]] bool fails(long number);

  const void* const handle_;
  const Origin origin_;
  Peer self_{};
  CUcontext context_ = nullptr;
  Facts facts_;
  Mesh mesh_;
  Stop stop_;
  Path path_ = Path::p2p;
  UniqueFd segment_;
  std::unique_ptr<Profiler> profiler_;
  std::shared_ptr<RasMember> ras_;
  std::map<unsigned, Factor> reductions_;
  unsigned next_reduction_ = ncclNumOps;
  bool connected_ = false;
  bool called_ = false;

  std::atomic<ncclResult_t> state_ = ncclSuccess;
  std::thread apart_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int on_streams_ = 0;
};

/// The lines of a moment that comes once in a process.
void log_once(Moment moment, const Facts& facts, int device);

/// NCCL's first step in a process: plugins, interface. Its lines come once; its failure each time.
[[nodiscard]] ncclResult_t open_library(std::optional<NetworkInterface>& interface);

}  // namespace safelaunch::testing
