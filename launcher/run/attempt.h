#pragma once

#include <filesystem>

#include "attempt_machine.h"
#include "leftovers.h"
#include "safelaunch/base/alarm.h"
#include "safelaunch/gpu/reader.h"
#include "safelaunch/launch/tree_stopper.h"
#include "safelaunch/nccl/ras.h"
#include "safelaunch/output/job_output.h"
#include "safelaunch/profile/profile.h"
#include "safelaunch/ranks/rank_watch.h"
#include "safelaunch/ranks/services.h"
#include "workers.h"

namespace safelaunch::run {

/// One start of the command, completely settled.
struct AttemptSpec {
  int number = 1;
  std::string profile;
  job::Launcher launcher = job::Launcher::opaque;
  std::vector<WorkerSpec> workers;  ///< one launcher, or the workers of this node
  watch::StagesConfig stages;
  Duration start{};  ///< limit for a standstill before training; 0: none
  StallTimeout stall = {Duration::zero()};
  bool kill_on_stall = false;
  settings::CleanPolicy clean = settings::CleanPolicy::off;
  Grace grace;
  output::OutputPlan output;
  std::string rank_logs;  ///< where the launcher is to keep each rank's output; empty: nowhere
  bool rank_logs_are_of_ranks = false;  ///< its local ranks are those of the whole job
  std::string users_rank_logs;          ///< the user's own --log-dir of the launcher
  std::filesystem::path directory;  ///< the folder of this attempt; empty where nothing is recorded
  /// The way in for the hooks; none: the ranks are watched from /proc alone.
  std::optional<ranks::HookDoor> hook;
  std::string run;          ///< the run's id
  bool for_leader = false;  ///< the agent of another node watches the ranks, too
  nccl::Listening nccl;
  profile::Ras ras = profile::Ras::off;
};

/// Whether NCCL's RAS may be asked about a verdict: only where every communicator is complete,
/// since a query while one is made has crashed jobs.
[[nodiscard]] bool may_ask_ras_about(const Failure& verdict, const nccl::Record& nccl);

/// The attempt stops: everything that runs beside it must end now.
struct AttemptStops {};

/// The news of an attempt for its run: of its ranks; a signal, by a key that the job's terminal
/// got; training that stands still, or moves again; the ranks' answers to ask_for_leader(). Its
/// record is the last word, behind which it may be destroyed.
using AttemptTell =
    std::variant<ranks::TellMeeting, ranks::RanksWait, ranks::TellPicture, ranks::AskNodes,
                 ranks::AskCounts, ranks::TellCounts, ranks::RanksAnswered, AttemptStops,
                 launch::ReceivedSignal, report::record::Stall, AttemptRecord>;

/// One start of the command under one profile: performs what an AttemptMachine decides. Starts the
/// command, has its ranks watched, stops it whole, and is over when no process of it lives and all
/// its output is passed on. Use it on the io_context's thread.
class Attempt final : Workers::Listener, output::JobOutput::Listener {
 public:
  using OnTell = std::function<void(AttemptTell)>;

  Attempt(const ranks::Services& services, AttemptSpec spec, OnTell tell);
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  ~Attempt();

  /// An error means that nothing runs: the command does not exist, or no descriptor was free.
  Result<void> start();

  /// Ends it, while it runs, because another profile is to be tried, or all nodes end theirs.
  void give_way() { take(WayWanted{}); }

  /// Kills it, now: the other nodes take this one for lost.
  void kill() { take(KillWanted{}); }

  /// Whether it has not failed until now, and nobody has wanted its end.
  [[nodiscard]] bool goes_well() const;
  /// Why it does not go well, in a sentence for the other nodes.
  [[nodiscard]] std::string trouble() const;
  /// Another node has failed, and this attempt is ended with it.
  void note_why(const std::string& why) { seen_.ended_because = why; }

  // Several nodes: takes the news of other nodes' agents about their ranks.
  [[nodiscard]] ranks::RankWatch& watch() { return watch_; }
  /// Asks this node's ranks where they stand, for the leader; RanksAnswered is told.
  void ask_for_leader(Duration limit);

  /// The files of its output, whose last bytes the disk may still have to write.
  [[nodiscard]] std::vector<output::Recording> recordings() const { return output_.recordings(); }

  /// A process that the job had orphaned was reaped.
  void orphan_ended(int pid, const ExitStatus& status) { stopper_.orphan_ended(pid, status); }

  /// A signal that was sent to safelaunch while the attempt runs.
  void signal(const launch::ReceivedSignal& received);

 private:
  [[nodiscard]] Duration age() const;
  void link_rank_files() const;
  /// The mark that the job's processes carry in their environment.
  [[nodiscard]] std::string mark() const;
  [[nodiscard]] std::string titled(const std::string& line) const;
  void tell(const std::string& line) const;

  void on_output(output::StreamId stream, std::string_view bytes) override {
    watch_.saw_output(stream, bytes);
  }
  void on_recording_stopped(const output::RecordingLoss& loss) override {
    take(RecordingStopped{loss});
  }
  void on_drained() override { take(OutputDrained{}); }
  void on_started(Rank rank, ProcessId process) override {
    watch_.take(ranks::RankSpawned{rank, process});
  }
  void on_exit(std::optional<Rank> rank, ProcessId process, const ExitStatus& status) override;
  void on_all_ended() override;
  void on_key(int by, launch::TerminalLoan::KeyIsFor whom) override;

  // The news of the ranks: for the user, for the machine, and all others for the run.
  void hear(const ranks::TellVerdict& news);
  void hear(const TrainingBegan& news);
  void hear(const TrainingStalled& news) { take(news); }
  void hear(const TrainingMoves& news) { take(news); }
  void hear(const ranks::WaitTimedOut& news) { take(news); }
  void hear(const ranks::ServeFailed& news) { take(news); }
  void hear(const ranks::ShowStatus& news);
  void hear(const ranks::ShowWaiting& news);
  void hear(const ranks::TellNotice& news) { tell(news.text); }
  void hear(const ranks::NcclSpoke& news);
  void hear(const RanksAnswered& news);
  /// No failure of this life is shown by words of the one before.
  void hear(const ranks::TellNewLife& news);
  void hear(const ranks::TellRanksGone&) { stopper_.ranks_gone(); }
  void hear(const auto& news) { tell_(news); }

  void take(const AttemptEvent& event);
  void set_timer();
  void perform(const AskRanks& ask) { watch_.ask_ranks(spec_.directory, ask.limit, ask.whom); }
  void perform(const AskRas& ask);
  void perform(const ForwardSignal& to) { workers_.send(to.signal, to.origin); }
  void perform(const EndWatching& end);
  void perform(const RecordSegments& record);
  void perform(const TakeSegments& take);
  void perform(const KeepOutput& keep);
  void perform(const HideOutput&) { output_.hide(); }
  void perform(const StopJob& stop);
  void perform(const NoteMainEnded& note) { stopper_.main_ended(note.ended); }
  void perform(const RecordVerdict& action);
  void perform(const RecordStall& action);
  void perform(const TellUser& tell);
  void perform(const FinishOutput&) { output_.finish(); }
  void perform(const AttemptOver& over);
  void hear_ras(const std::string& answer);
  void on_tree_gone(const std::vector<launch::Survivor>& survivors);
  void end();
  [[nodiscard]] AttemptRecord finished_record();

  ranks::Services services_;
  AttemptSpec spec_;
  OnTell tell_;
  TimePoint began_;
  AttemptMachine machine_;
  Alarm timer_;
  std::optional<nccl::RasQuestion> ras_;
  std::optional<gpu::Reading> gpus_;
  launch::SignalOrigin asked_by_ = launch::SignalOrigin::user;
  bool leader_asks_ = false;  ///< the leader has asked, so the ranks' answers go to it
  /// The attempt's segments, to be removed once it has been stopped.
  std::vector<host::LeftFile> segments_;
  AttemptRecord seen_;  ///< the part that the machine need not know: words, tails, survivors
  output::JobOutput output_;
  Workers workers_;
  ranks::RankWatch watch_;
  launch::TreeStopper stopper_;
};

}  // namespace safelaunch::run
