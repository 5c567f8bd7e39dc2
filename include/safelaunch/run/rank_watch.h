#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/clean/stale.h"
#include "safelaunch/run/hook_door.h"
#include "safelaunch/run/nccl_watch.h"
#include "safelaunch/run/rank_inquiry.h"
#include "safelaunch/run/services.h"
#include "safelaunch/watch/stages.h"
#include "safelaunch/watch/stall.h"

namespace safelaunch::run {

/// What an attempt's record takes from the watch.
struct RanksSeen {
  int world_size = 0;                    ///< of the job; 0: no rank was seen
  std::vector<RankExited> exits;         ///< of ranks, in order, until the attempt was stopped
  std::vector<RankExited> late_exits;    ///< of ranks, in order, while it was being stopped
  std::vector<RankRaised> raised;        ///< in order
  RankAnswers answers;                   ///< to what they were asked after the verdict
  std::map<Rank, std::string> stores;    ///< "host:port" of the store that a rank was given last
  std::map<Rank, std::string> knocking;  ///< "host:port" of the store that a rank cannot get into
  std::set<std::string> backends;        ///< as the ranks gave them to init_process_group
  std::set<Rank> finished;               ///< whose Python has come to its end without an exception
  NcclRecord nccl;
};

struct RankWatchConfig {
  watch::StagesConfig stages;
  Duration start{};  ///< that all may stand still before anybody waits; 0: for ever
  Duration stall{};  ///< 0: off
  std::optional<HookDoor> hook;
  NcclListening nccl;
  Environment environment{};  ///< of a worker
  clean::CleanPolicy clean = clean::CleanPolicy::off;
};

/// Sees how far the ranks of one attempt have come: listens to the hooks, reads NCCL's logs, looks
/// at /proc while somebody waits, sees ranks end, and hands it all to `Stages`, which decides.
/// After the first collective nothing here wakes up any more but by NCCL's own writing (unless a
/// stall is to be reported).
class RankWatch {
 public:
  class Listener {
   public:
    virtual void on_verdict(const Failure& verdict) = 0;
    /// A rank waits for the others, or has begun to connect.
    virtual void on_meeting() = 0;
    virtual void on_training() = 0;
    /// The status line; empty: none.
    virtual void on_status(const std::string& line) = 0;
    /// The same, now and then, after a while.
    virtual void on_waiting(const std::string& line) = 0;
    /// Worth a line of its own.
    virtual void on_notice(const std::string& text) = 0;
    virtual void on_stall(const watch::StallReport& report) = 0;
    virtual void on_nccl_said(std::optional<Rank> rank, const nccl::Said& said) = 0;
    /// The last rank has ended while the job was stopped.
    virtual void on_ranks_gone() = 0;

   protected:
    ~Listener() = default;
  };

  RankWatch(const Services& services, RankWatchConfig config, Listener& listener);
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;
  ~RankWatch();

  /// The job has been started.
  void begin();
  /// A worker of our own spawn was started, has ended.
  void started(Rank rank, ProcessId process);
  void ended(Rank rank, ProcessId process, const ExitStatus& status);
  /// The job has written something.
  void saw_output(output::StreamId stream, std::string_view bytes);
  /// Nothing is judged any more: the attempt is being stopped. Ends of ranks are still noted.
  void freeze();
  [[nodiscard]] bool training() const;

  /// Asks every rank for its Python stack and its collectives; writes the answers to
  /// `directory`/evidence. Calls once, when all have answered or the time is over.
  void ask_ranks(const std::filesystem::path& directory, Duration limit,
                 std::function<void(const RankAnswers&)> done);

  /// Who waits for whom at present; nullopt while nobody waits, or nothing is judged.
  [[nodiscard]] std::optional<Failure> waiting_now() const;

  /// What has been seen until now.
  [[nodiscard]] RanksSeen seen() const;
  /// "group 4/4 · collective 3/4".
  [[nodiscard]] std::string stages_reached() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace safelaunch::run
