#pragma once

#include <filesystem>
#include <map>
#include <memory>

#include "safelaunch/base/alarm.h"
#include "safelaunch/base/event.h"
#include "safelaunch/clean/stale.h"
#include "safelaunch/launch/exit_watch.h"
#include "safelaunch/nccl/job.h"
#include "safelaunch/nccl/watch.h"
#include "safelaunch/ranks/attempt_place.h"
#include "safelaunch/ranks/driver_watch.h"
#include "safelaunch/ranks/rank_inquiry.h"
#include "safelaunch/ranks/rank_machine.h"
#include "safelaunch/ranks/services.h"
#include "safelaunch/ranks/stacks_door.h"
#include "safelaunch/ranks/stall_watch.h"
#include "safelaunch/ranks/standstill_watch.h"
#include "safelaunch/ranks/straggler_watch.h"
#include "safelaunch/ranks/usage_watch.h"
#include "safelaunch/watch/activity_sampler.h"
#include "safelaunch/watch/hook_channel.h"
#include "safelaunch/watch/stages.h"

namespace safelaunch::ranks {

/// The sources that tell the rank of a process that NCCL names.
struct KnownRanks {
  const std::map<ProcessId, Rank>& hooked;   ///< the ranks of processes, as their Python hooks say
  const std::map<ProcessId, Rank>& plugged;  ///< the ranks of processes, as NCCL's plugins say
  const watch::Stages& stages;
  std::string_view log_file;  ///< NCCL_DEBUG_FILE as the job was given it
};

/// The rank of a process that NCCL's log names: as its hook or plugin says, as we spawned it, as
/// its environment says; else its rank in the communicator, if that is the whole job's. In a
/// container the pid may be a stranger's here: a process counts only if it was told to write this
/// log. Reads /proc.
[[nodiscard]] std::optional<RankStarted> rank_of(const nccl::ProcessName& who,
                                                 const std::optional<nccl::Part>& part,
                                                 const KnownRanks& known);

struct RankWatchConfig {
  watch::StagesConfig stages;
  Duration start{};  ///< how long all may stand still before anybody waits; 0: for ever
  StallTimeout stall = {Duration::zero()};
  std::optional<HookDoor> hook;
  nccl::Listening nccl;
  Environment environment{};  ///< the environment of a worker
  settings::CleanPolicy clean = settings::CleanPolicy::off;
  std::string run{};        ///< the run's id, under which `safelaunch stacks` finds its door
  bool for_leader = false;  ///< the agent of another node wants pictures of our ranks
};

/// Sees how far the ranks of one attempt have come: listens to the hooks, reads NCCL's logs, looks
/// at /proc while somebody waits, sees ranks end, and hands it all to a `RankMachine`, whose
/// decisions it performs. After the first collective nothing here wakes up any more but by NCCL's
/// own writing, once a minute to ask for the counters of the collectives (unless a standstill is
/// not to be told), and ever more rarely for the ranks' CPU and memory. Use it on the io_context's
/// thread.
class RankWatch final : watch::HookChannel::Listener {
 public:
  RankWatch(const Services& services, RankWatchConfig config, OnRanksTell tell);
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;
  ~RankWatch();

  /// The job has been started.
  void begin();
  /// For news that only the caller has: workers of our own spawn, the agents of other nodes.
  void take(const WatchEvent& event);
  /// A worker of our own spawn has ended.
  void ended(Rank rank, ProcessId process, const std::optional<ExitStatus>& status);
  /// The job has written something.
  void saw_output(output::StreamId stream, std::string_view bytes);
  /// Nothing is judged any more: the attempt is being stopped. Ends of ranks are still noted.
  void freeze();
  [[nodiscard]] bool training() const { return machine_.may_have_trained(); }
  /// Whether a rank of this node runs that has a hook.
  [[nodiscard]] bool ranks_live() const;

  /// Asks every rank for its Python stack and its collectives; writes the answers to
  /// `directory`/evidence. RanksAnswered follows, once, when all have answered or the time is over.
  void ask_ranks(const std::filesystem::path& directory, Duration limit, Whom whom = Whom::all);

  /// Several nodes: the agent of another one has told this of its ranks.
  void node_answered(const NodeName& node, const RankAnswers& answers);
  void node_counted(int seat, const NodeCounts& counts) { stall_.answered(seat, counts); }
  /// The leader asks how far the ranks of this node have come; TellCounts follows.
  void count_for_leader(int question) { counts_.begin(question); }
  /// The present state of this node's ranks.
  [[nodiscard]] std::vector<RankPicture> picture() const {
    return picture_of(ranks_now(), Clock::now());
  }

  /// The ranks that wait at present, and those that they wait for; nullopt while no rank waits, or
  /// nothing is judged.
  [[nodiscard]] std::optional<Failure> waiting_now() const;

  /// The news of the ranks until now.
  [[nodiscard]] RanksSeen seen() const;
  /// "group 4/4 · collective 3/4".
  [[nodiscard]] std::string stages_reached() const { return machine_.stages().counts_text(); }

 private:
  void open_channel();
  void ask_counters(int id);
  void on_hook_message(ProcessId process, const watch::HookMessage& message) override;
  void on_hook_closed(ProcessId process) override { take(HookClosed{process}); }
  void on_hook_flood(ProcessId process) override { take(HookFlooded{process}); }

  [[nodiscard]] const std::map<Rank, watch::RankState>& ranks_now() const {
    return machine_.stages().ranks();
  }
  void set_timer();
  void show_leader_soon();
  void hear_answers(RankAnswers answers, Duration limit);
  void tell_answers();
  void hear(const PassAnswer& from, const watch::StackAnswer& stack);
  void hear(const PassAnswer& from, const watch::CollectivesAnswer& collectives);
  void hear(const PassAnswer& from, const watch::CountersAnswer& counters);
  void hear(const PassAnswer& from, const watch::ArrivalsAnswer& arrivals);
  void perform(const WatchExit& watch);
  void perform(const AskWhetherItHears& ask);
  void perform(const TakeLook& look);
  void perform(const SampleRanks& sample);
  void perform(const SampleOthers& sample);
  void perform(const FindUser& find);
  void perform(const AskPlaces& ask);
  void perform(const RemoveLocks& remove);
  void perform(const ShowStacks& show);
  void perform(const PassAnswer& pass);
  void perform(const RecordEvent& record) { services_.log.record(record.event); }
  void perform(const RecordSome& record) { services_.log.record_some(record.event); }
  void perform(const TellVerdict& tell);
  void perform(const BeginTraining& begin);
  void perform(const auto& told) { tell_(told); }

  Services services_;
  RankWatchConfig config_;
  OnRanksTell tell_;
  RankMachine machine_;
  host::Procfs table_;
  host::KernelSockets sockets_;
  watch::ProcessObserver looker_;
  watch::ActivitySampler sampler_;
  Alarm timer_;
  std::string cut_off_build_;
  StoresHere stores_here_;
  RankInquiry inquiry_;     // asks where the ranks stand after a verdict
  RankInquiry places_;      // asks where all ranks stand before there is a verdict
  RankInquiry shown_;       // asks where all ranks stand for a person
  AnswersOfNodes answers_;  // the answers of all nodes to inquiry_
  Alarm nodes_answer_;
  Alarm show_;
  bool show_set_ = false;
  bool ranks_wait_ = false;
  std::vector<RankPicture> shown_picture_;
  StallWatch stall_;
  CountRound counts_;
  StragglerWatch stragglers_;
  nccl::Watch nccl_;
  DriverWatch driver_;
  StandstillWatch standstill_;
  UsageWatch usage_;
  std::unique_ptr<watch::HookChannel> channel_;
  std::unique_ptr<StacksDoor> door_;
  std::map<ProcessId, launch::ExitWatch> exits_;
  // Processes whose end is told, of which we still hold a descriptor.
  std::vector<ProcessId> told_exits_;
};

}  // namespace safelaunch::ranks
