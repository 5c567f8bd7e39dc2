#pragma once

#include <variant>

#include "attempt_record.h"
#include "safelaunch/job/command.h"
#include "safelaunch/launch/signals.h"
#include "safelaunch/launch/stop.h"
#include "safelaunch/output/recording.h"
#include "safelaunch/ranks/ranks_tell.h"
#include "safelaunch/report/record.h"

namespace safelaunch::run {

/// The time that ranks have to save when their job is told to end.
struct Grace {
  Duration of_ranks{};  ///< the time from our signal, or torchrun's, until somebody kills the ranks
  /// The time until we kill everything that lives; torchrun tells of the ranks that it has killed
  /// itself.
  Duration in_all{};
  /// The user has told it (--grace), so it counts from their first signal. Else a job that may have
  /// something to save may take that as long as it likes, or as a word and go on: without us nobody
  /// would kill it either.
  bool from_first_signal = false;
  bool operator==(const Grace&) const = default;
};

/// Whether a signal to safelaunch means that the job is to end (INT, TERM, HUP, QUIT); all others
/// are the job's own business.
[[nodiscard]] bool ends_a_job(int signal);

/// The settings on which the decisions of an attempt depend.
struct AttemptRules {
  job::Launcher launcher = job::Launcher::opaque;
  bool own_spawn = false;  ///< safelaunch started the ranks itself
  Grace grace;
  bool kill_on_stall = false;
};

/// The command could not be started, or not all of its workers.
struct StartFailed {};
/// A process that safelaunch started has ended: the launcher, or a rank of our own spawn.
struct WorkerEnded {
  std::optional<Rank> rank;
  ExitStatus status;
  bool others_run = false;
  bool trained = false;  ///< the job has trained, or may have
};
/// The last of those processes has ended.
struct AllWorkersEnded {
  bool ranks_live = false;  ///< ranks that have trained live on beside it
};
/// The watch has decided that the attempt is lost.
struct VerdictFell {
  Failure verdict;
  bool trained = false;           ///< the job has trained, or may have
  bool ras_may_be_asked = false;  ///< see may_ask_ras_about()
};
using ranks::RanksAnswered;
using ranks::ServeFailed;
using ranks::TellNewLife;
using ranks::TrainingBegan;
using ranks::TrainingMoves;
using ranks::TrainingStalled;
using ranks::WaitTimedOut;
/// NCCL's RAS has answered, or its time is over.
struct RasAnswered {};
struct SignalCame {
  int signal = 0;
  launch::SignalOrigin origin = launch::SignalOrigin::user;
  std::optional<Failure> waiting;  ///< the ranks that wait at this moment, if any does
  bool ignored = false;            ///< see launch::ReceivedSignal
};
/// The job, which reads the terminal, has got a Ctrl-C there.
struct KeyPassedOn {
  int signal = 0;
};
/// Another profile is to be tried instead.
struct WayWanted {};
/// The other nodes take this one for lost: no rank may live here any more.
struct KillWanted {};
/// No process of the job lives any more, but for survivors.
struct TreeGone {
  bool output_drained = false;
};
/// A file of the job's output takes no more: the disk is full, or does not answer.
struct RecordingStopped {
  output::RecordingLoss loss;
};
/// All output of the job is passed on.
struct OutputDrained {};
/// The machine's deadline has come.
struct AttemptTimePassed {};

using AttemptEvent =
    std::variant<StartFailed, WorkerEnded, AllWorkersEnded, VerdictFell, TrainingBegan,
                 TrainingStalled, TrainingMoves, WaitTimedOut, ServeFailed, TellNewLife,
                 RanksAnswered, RasAnswered, SignalCame, KeyPassedOn, WayWanted, KillWanted,
                 TreeGone, RecordingStopped, OutputDrained, AttemptTimePassed>;

/// Ask every rank where it stands; RanksAnswered follows, after `limit` at the latest.
struct AskRanks {
  Duration limit{};
  ranks::Whom whom = ranks::Whom::all;
  bool operator==(const AskRanks&) const = default;
};
/// Ask NCCL's RAS; RasAnswered follows.
struct AskRas {
  bool operator==(const AskRas&) const = default;
};
/// Pass a signal on that does not end the job.
struct ForwardSignal {
  int signal = 0;
  launch::SignalOrigin origin = launch::SignalOrigin::user;
  bool operator==(const ForwardSignal&) const = default;
};
/// The attempt is being stopped from here on: nothing is judged any more, what runs beside it ends.
struct EndWatching {
  bool operator==(const EndWatching&) const = default;
};
/// Record in the run directory, without haste, which segments in /dev/shm the job has.
struct RecordSegments {
  bool operator==(const RecordSegments&) const = default;
};
/// The ranks are about to end: look at their segments in /dev/shm now.
struct TakeSegments {
  bool remove_later = false;  ///< another attempt may follow, and what they leave is in its way
  bool operator==(const TakeSegments&) const = default;
};
/// Keep the last output as evidence: later words come of our stopping the job. They are shown only
/// where the ranks may tell of what they save.
struct KeepOutput {
  bool operator==(const KeepOutput&) const = default;
};
struct HideOutput {
  bool operator==(const HideOutput&) const = default;
};
/// Stop the job, or stop it harder.
struct StopJob {
  launch::StopWanted wanted;
  launch::SignalOrigin asked_by = launch::SignalOrigin::user;
};
/// For the stop: nothing that safelaunch started itself runs any more.
struct NoteMainEnded {
  launch::MainEnded ended;
};
struct RecordVerdict {
  Failure verdict;
};
/// A line for the record: training stands still, or moves again.
struct RecordStall {
  report::record::Stall line;
};
/// One line for the user.
struct TellUser {
  std::string text;
  bool operator==(const TellUser&) const = default;
};
/// Close the job's output; OutputDrained follows.
struct FinishOutput {
  bool operator==(const FinishOutput&) const = default;
};
/// The attempt is over.
struct AttemptOver {
  bool operator==(const AttemptOver&) const = default;
};

using AttemptAction = std::variant<AskRanks, AskRas, ForwardSignal, EndWatching, RecordSegments,
                                   TakeSegments, KeepOutput, HideOutput, StopJob, NoteMainEnded,
                                   RecordVerdict, RecordStall, TellUser, FinishOutput, AttemptOver>;

/// Decides what one attempt does, from its start until it is over; `Attempt` performs it. Pure: the
/// time is handed in.
///
///     running ── verdict ─────────────────→ asking ── all have answered ──→ stopping
///        │ └──── signal ──────────────────→ explaining ── answers, any end ──┤
///        └────── worker failed, all ended, way wanted ──────────────────────→┘
///     stopping ── no process lives ──→ draining ── all output passed on ──→ over
///
///   - running: a verdict on a rank's own failure leaves the launcher a moment to end the others in
///     its own words; all other verdicts ask the ranks where they stand before they are stopped.
///   - explaining: before INT or TERM reaches the ranks, they are asked where they stand. Where
///     ranks wait for others, who waits for whom is told at once; else where the ranks stood is told
///     once the job has ended, or has stayed for a while.
///   - draining: a reader may take the output as slowly as it likes, unless somebody has asked for
///     the end: then it has two seconds, and none after a second signal.
///   - A signal while safelaunch itself stops the attempt cannot change that; it ends the run
///     (`late_signal`).
class AttemptMachine {
 public:
  explicit AttemptMachine(AttemptRules rules) : rules_(rules) {}

  [[nodiscard]] std::vector<AttemptAction> on(const AttemptEvent& event, TimePoint now);

  /// When AttemptTimePassed is to come; nullopt while there is nothing to wait for.
  [[nodiscard]] std::optional<TimePoint> deadline() const;

  [[nodiscard]] const AttemptOutcome& outcome() const { return outcome_; }

 private:
  struct Running {
    std::optional<TimePoint> launcher_reacts_until;
    std::optional<watch::StallReport> stall;  ///< the standstill about which the ranks are asked
    std::optional<int> cannot_serve{};        ///< the status with which the server exits
  };
  struct Explaining {
    SignalCame told;
  };
  struct Asking {
    int unanswered = 0;
  };
  struct Stopping {
    std::optional<TimePoint> explain_at;
    int signal = 0;
  };
  /// The ranks as a signal met them.
  struct Met {
    int signal = 0;
    std::string standing;  ///< where they stood; empty: nobody knows, or the user has been told
    bool alone = false;    ///< there was one only
  };
  struct Draining {
    std::optional<TimePoint> until;  ///< the deadline of the wait; none: it has no limit
  };
  struct Over {};

  void take(const StartFailed& event, TimePoint now);
  void take(const WorkerEnded& event, TimePoint now);
  void take(const AllWorkersEnded& event, TimePoint now);
  void take(const VerdictFell& event, TimePoint now);
  void take(const TrainingBegan& event, TimePoint now);
  void take(const TrainingStalled& event, TimePoint now);
  void take(const TrainingMoves& event, TimePoint now);
  void take(const WaitTimedOut& event, TimePoint now);
  void take(const ServeFailed& event, TimePoint now);
  void take(const TellNewLife&, TimePoint) { outcome_.timed_out.reset(); }
  void take(const RanksAnswered& event, TimePoint now);
  void take(const RasAnswered&, TimePoint) {
    if (is<Asking>()) one_has_answered();
  }
  void take(const SignalCame& event, TimePoint now);
  void take(const KeyPassedOn& event, TimePoint now) { passed_on_ = {event.signal, now, true}; }
  void take(const WayWanted& event, TimePoint now);
  void take(const KillWanted& event, TimePoint now);
  void take(const TreeGone& event, TimePoint now);
  void take(const RecordingStopped& event, TimePoint now);
  void take(const OutputDrained& event, TimePoint now);
  void take(const AttemptTimePassed& event, TimePoint now);

  void note(const SignalCame& event);
  void stop_as_the_user_wants(const SignalCame& event);
  void stop_and_explain_later(const SignalCame& event, TimePoint now);
  void explain_and_stop(const Explaining& explaining, const ranks::RankAnswers& answers,
                        TimePoint now);
  void tell_what_the_signal_met();
  void tell(report::record::Stall line);
  void note_failure(TimePoint now);
  void end_server(int status, TimePoint now);
  [[nodiscard]] bool ended_as_told(const ExitStatus& status, TimePoint now);
  void tell_stall(const watch::StallReport& report, const ranks::RankAnswers& answers,
                  TimePoint now);
  void hide_output();
  void one_has_answered();
  void stop_lost();
  void make_way();
  enum class Segments { keep, remove };
  void begin_stop(const launch::StopWanted& wanted, Segments segments = Segments::keep,
                  launch::SignalOrigin asked_by = launch::SignalOrigin::user);
  [[nodiscard]] std::string time_to_save(const std::string& again, bool waiting) const;

  template <class State>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<State>(state_);
  }
  /// Nobody has decided to stop the attempt for a reason of its own.
  [[nodiscard]] bool runs() const { return is<Running>() || is<Explaining>(); }

  AttemptRules rules_;
  AttemptOutcome outcome_;
  std::variant<Running, Explaining, Asking, Stopping, Draining, Over> state_ = Running{};
  Met met_;
  struct PassedOn {
    int signal = 0;
    TimePoint at{};
    bool by_key = false;
  };
  std::optional<PassedOn> passed_on_;      ///< the last signal that ends nothing by itself
  std::optional<TimePoint> stands_since_;  ///< at the latest, where the training stands still
  bool never_meet_ = false;  ///< the collectives in which the ranks stand still, as was told last
  bool trained_ = false;     ///< the job has trained, or may have, as the verdict said
  std::vector<AttemptAction> actions_;  ///< the actions of the present call
};

}  // namespace safelaunch::run
