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
class RankWatch final : nccl::Watch::Listener,
                        DriverWatch::Listener,
                        StandstillWatch::Listener,
                        StallWatch::Listener,
                        UsageWatch::Listener,
                        watch::HookChannel::Listener {
 public:
  class Listener {
   public:
    virtual void on_verdict(const Failure& verdict) = 0;
    /// A rank waits for the others, or has begun to connect.
    virtual void on_meeting() = 0;
    virtual void on_training() = 0;
    /// The status line; empty: none.
    virtual void on_status(const std::string& line) = 0;
    /// The status line as a log line, for output without a status line; the first once half of the
    /// deadline is over.
    virtual void on_waiting(const std::string& line) = 0;
    /// Worth a line of its own.
    virtual void on_notice(const std::string& text) = 0;
    virtual void on_stall(const watch::StallReport& report) = 0;
    virtual void on_stall_over(Duration stood) = 0;
    virtual void on_nccl_said(std::optional<Rank> rank, const nccl::Said& said) = 0;
    /// The ranks' answers to ask_ranks().
    virtual void on_answers(const RankAnswers& answers) = 0;
    /// The launcher has started its ranks again.
    virtual void on_new_life() = 0;
    /// The last rank has ended while the job was stopped.
    virtual void on_ranks_gone() = 0;
    /// Ranks begin to wait for others, or none waits any longer.
    virtual void on_ranks_wait(bool wait) = 0;
    /// Another picture of this node's ranks, for the leader (`for_leader`).
    virtual void on_picture(const std::vector<RankPicture>& ranks) = 0;
    /// The ranks of other nodes are to be asked too; node_answered() follows for each.
    virtual void on_nodes_asked() = 0;

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
  void ended(Rank rank, ProcessId process, const std::optional<ExitStatus>& status);
  /// The job has written something.
  void saw_output(output::StreamId stream, std::string_view bytes);
  /// Nothing is judged any more: the attempt is being stopped. Ends of ranks are still noted.
  void freeze();
  [[nodiscard]] bool training() const;

  /// Asks every rank for its Python stack and its collectives; writes the answers to
  /// `directory`/evidence. The listener's on_answers() follows, once, when all have answered or the
  /// time is over.
  void ask_ranks(const std::filesystem::path& directory, Duration limit, Whom whom = Whom::all);

  // Several nodes: the agent of another one has told this of its ranks.
  void node_spoke(const NodeName& node, const std::vector<RankPicture>& ranks);
  void node_heard(int seat, bool heard);
  void node_answered(int seat, const RankAnswers& answers);
  /// The leader begins to watch our ranks at work, or stops it.
  void leader_watches(bool watches);
  /// The present state of this node's ranks.
  [[nodiscard]] std::vector<RankPicture> picture() const;

  /// The ranks that wait at present, and those that they wait for; nullopt while no rank waits, or
  /// nothing is judged.
  [[nodiscard]] std::optional<Failure> waiting_now() const;

  /// The news of the ranks until now.
  [[nodiscard]] RanksSeen seen() const;
  /// "group 4/4 · collective 3/4".
  [[nodiscard]] std::string stages_reached() const;

 private:
  void open_channel();
  [[nodiscard]] std::vector<watch::ProcessOfRank> line_above(
      ProcessId process, const watch::HookMessage& message) const;

  [[nodiscard]] std::optional<RankStarted> whose(
      const nccl::ProcessName& who, const std::optional<nccl::Part>& part) const override;
  [[nodiscard]] int world_size() const override;
  [[nodiscard]] const std::map<Rank, watch::RankState>& ranks_now() const override;
  void on_nccl_event(const Event& event) override;
  void on_nccl_contradiction(const nccl::Contradiction& found) override;
  void on_nccl_said(std::optional<Rank> rank, const nccl::Said& said) override;
  void on_driver_silent(const std::vector<Rank>& ranks, const std::string& text) override;
  void on_standstill(const watch::StoodStill& still,
                     const std::map<Rank, std::string>& doings) override;
  void on_stall(const watch::StallReport& report) override;
  void on_stall_over(Duration stood) override;
  void ask_counters(int id) override;
  void on_hook_message(ProcessId process, const watch::HookMessage& message) override;
  void on_hook_closed(ProcessId process) override;
  void on_hook_flood(ProcessId process) override;

  [[nodiscard]] std::string nameless(const std::set<ProcessId>& ranks) const;
  void take(const WatchEvent& event);
  void set_timer();
  void show_leader_soon();
  void show_leader();
  void hear_answers(RankAnswers answers, Duration limit);
  void tell_answers();
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
  void perform(const RecordEvent& record);
  void perform(const RecordSome& record);
  void perform(const TellVerdict& tell);
  void perform(const TellMeeting& tell);
  void perform(const BeginTraining& begin);
  void perform(const ShowStatus& show);
  void perform(const ShowWaiting& show);
  void perform(const TellNotice& tell);
  void perform(const TellNcclSaid& tell);
  void perform(const TellNewLife& tell);
  void perform(const TellRanksGone& tell);

  Services services_;
  RankWatchConfig config_;
  Listener& listener_;
  RankMachine machine_;
  host::Procfs table_;
  host::KernelSockets sockets_;
  watch::ProcessObserver looker_;
  watch::ActivitySampler sampler_;
  Alarm timer_;
  std::string cut_off_build_;
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
