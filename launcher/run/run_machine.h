#pragma once

#include <span>
#include <variant>

#include "attempt_summary.h"
#include "safelaunch/agree/decision.h"
#include "safelaunch/diagnose/diagnosis.h"
#include "safelaunch/launch/signals.h"
#include "safelaunch/plan/host_checks.h"
#include "safelaunch/plan/next_step.h"
#include "safelaunch/plan/port_choice.h"
#include "safelaunch/plan/resume.h"
#include "safelaunch/report/summary.h"

namespace safelaunch::run {

/// The run begins.
struct RunBegins {};
/// The checks before the run are done, or left behind.
struct HostChecked {
  plan::HostReport report;
};
struct AttemptStarted {};
/// Nothing runs: no port, a command that does not exist.
struct AttemptNotStarted {
  Error error;
};
/// All that is known of an attempt that is over. The record and the evidence are needed during the
/// call alone.
struct EndedAttempt {
  const AttemptRecord& record;
  const diagnose::Evidence& evidence;     ///< empty where the attempt went well
  bool gpu = false;                       ///< this host has a GPU
  std::vector<std::string> refuted = {};  ///< profiles that a probe beside the attempt saw fail
};
/// Nothing of the attempt runs on this node any more.
struct AttemptEnded {
  EndedAttempt attempt;
  bool leads = false;  ///< this node decides the next step, once no node runs the attempt any more
};
/// A probe beside the attempt shows that it cannot work, and which profile does.
struct SwitchFound {
  diagnose::Diagnosis diagnosis;
  plan::NextStep step;
};
/// The probe between two attempts is over, or cannot be.
struct ProfileChosen {
  std::string profile;  ///< the fastest that works; empty: none does, or nobody knows
  std::vector<std::string> refuted;
};
/// The GPUs' memory is back, or has been waited for in vain.
struct MemoryBack {
  std::string trouble{};
  bool stuck = false;  ///< a GPU still computes, for nobody: what starts there would hang, too
};
/// The machine's deadline has come.
struct PauseOver {};

// Several nodes: the events of the agreement.

/// This agent is the one whose decisions all follow.
struct LeadsNodes {};
/// To the leader: every node is there and ready for a first attempt. `blocked` says which node's
/// checks forbid it; the lines tell of risks and of differences between the nodes, the findings of
/// the ways between them.
struct NodesReady {
  std::vector<std::string> lines{};
  std::string blocked{};
  std::vector<Finding> findings{};
};
/// Every node starts this attempt now.
struct AttemptAgreed {
  agree::Decision go;
};
/// No agreement is to be had: this node runs as if there were no others.
struct AgreedOnNone {
  std::string why;
};
/// This node cannot meet the others: a token, an address.
struct NodesRefused {
  Error error;
};
/// To the leader: the attempt is over on every node, and this is the account that all of them give.
struct OverEverywhere {
  EndedAttempt attempt;
};
/// The same, and no rank is to blame: a node is gone, was away for so long that its ranks had to
/// end, or could not start them.
struct EndedByNodes {
  const AttemptRecord& record;
  int exit_code = 0;
  std::string why;
};
/// The ranks of this node were sent a signal that came at another.
struct SignalPassedOn {};
/// Every node ends its run now.
struct EndAgreed {
  int exit_code = 0;
  std::string why;  ///< empty: the job has ended well
};

using RunEvent =
    std::variant<RunBegins, HostChecked, AttemptStarted, AttemptNotStarted, AttemptEnded,
                 SwitchFound, ProfileChosen, MemoryBack, PauseOver, LeadsNodes, NodesReady,
                 AttemptAgreed, AgreedOnNone, NodesRefused, OverEverywhere, EndedByNodes,
                 SignalPassedOn, EndAgreed, launch::ReceivedSignal>;

/// Check the host; HostChecked follows.
struct CheckHost {};
/// Start the command under a profile, on another port where the former one was taken;
/// AttemptStarted or AttemptNotStarted follows, then AttemptEnded.
struct StartAttempt {
  profile::Profile profile;
  int number = 1;
  plan::FormerPort former_port = plan::FormerPort::none;
  std::optional<agree::Decision> agreed{};  ///< several nodes: port and layout are decided
  bool by_loopback = false;  ///< this host's own name leads nowhere: torchrun is told 127.0.0.1
};
/// Probe the profile of the first attempt beside it, where --probe wants that; SwitchFound may
/// follow.
struct ProbeBesideAttempt {
  profile::Profile profile;
};
/// A signal for the attempt that runs.
struct SignalAttempt {
  launch::ReceivedSignal received;
};
/// The attempt that runs is to end for another profile; AttemptEnded follows.
struct EndAttemptForAnother {};
/// Probe these, now that no attempt runs; ProfileChosen follows.
struct ProbeCandidates {
  profile::Profile failed;
  std::vector<profile::Profile> candidates;
};
/// Wait until the GPUs' memory is back; MemoryBack follows.
struct AwaitGpuMemory {};
struct RecordFinding {
  Finding finding;
};
struct RecordCause {
  diagnose::Diagnosis diagnosis;
};
/// An attempt's place in the report.
struct RecordAttempt {
  report::AttemptSummary summary;
};
/// A line for the user; none with --quiet.
struct SayLine {
  std::string text;
};
/// A line for the user, also with --quiet: the run fails for it.
struct SayFailure {
  std::string text;
};
/// The attempt recorded last failed for this reason, and another one follows.
struct TellFallback {
  plan::NextStep step;
};
/// Profiles that are passed over, and why.
struct TellStruckOut {
  plan::NextStep step;
};
/// The first failing rank's own words.
struct TellFirstFailure {
  diagnose::Diagnosis diagnosis;
};
/// Tell which processes the job had left running, and that they were ended.
struct TellSwept {};
/// The profile under which the job has ended well: what it cost, and that it works here.
struct KeepWhatWorked {
  profile::Profile profile;
  int attempts = 1;
};
// Several nodes: the news of this node for the others.

/// Come to the other agents.
struct JoinNodes {};
/// From here on this node runs alone.
struct PartFromNodes {};
/// This node's checks are over.
struct TellReady {
  std::vector<std::string> findings;
  bool blocked = false;
};
/// The leader wants this attempt on every node; AttemptAgreed follows, on each.
struct ProposeAttempt {
  profile::Profile profile;
  int number = 1;
  plan::FormerPort former_port = plan::FormerPort::none;
  std::string checkpoint{};  ///< from which every node's script goes on; empty: none
};
/// A member's attempt could not be started.
struct TellNotStarted {
  Error error;
};
/// The leader wants every node to end; EndAgreed follows, on each.
struct ProposeEnd {
  int exit_code = 0;
  std::string why;
};
/// A person, or the scheduler, wants the job to end.
struct TellSignal {
  int signal = 0;
};
/// The run is over.
struct EndRun {
  int exit_code = 0;
  std::string stopped_because;  ///< why no further profile was tried; empty after a success
};

using RunAction =
    std::variant<CheckHost, StartAttempt, ProbeBesideAttempt, SignalAttempt, EndAttemptForAnother,
                 ProbeCandidates, AwaitGpuMemory, RecordFinding, RecordCause, RecordAttempt,
                 SayLine, SayFailure, TellFallback, TellStruckOut, TellFirstFailure, TellSwept,
                 KeepWhatWorked, JoinNodes, PartFromNodes, TellReady, ProposeAttempt,
                 TellNotStarted, ProposeEnd, TellSignal, EndRun>;

/// Files that only the decision after a failure needs. They are read at the first call: a healthy
/// job does not pay for them (the catalogue alone takes 9 ms).
class Shelf {
 public:
  /// All profiles there are, for healers outside the chain. Reading them may make the chain longer:
  /// no pointer into it is kept.
  virtual std::span<const profile::Profile> all_profiles() = 0;
  /// A profile that another node has named; nullopt where there is none of that name.
  virtual std::optional<profile::Profile> profile_named(const std::string& name) = 0;
  virtual const diagnose::Catalogue& catalogue() = 0;
  /// Notes which checkpoints are there before an attempt starts; waits for nothing.
  virtual void note_checkpoints(const std::string& pattern) = 0;
  /// Those, and those of now; nullopt where the disk does not answer.
  virtual std::optional<plan::CheckpointsSeen> checkpoints_of(const std::string& pattern) = 0;
  /// Whether this path is there; nullopt where the disk does not answer.
  virtual std::optional<bool> has_checkpoint(const std::string& path) = 0;

 protected:
  ~Shelf() = default;
};

/// Decides what follows in a run: from the checks of the host over every attempt to its end; `Run`
/// performs it. Pure but for the shelf, which is read after a failure: the time is handed in.
///
///     checking ──→ attempting ── ended well, or nothing can heal it ──→ over
///                    ↑    └── another may heal it ─→ (probing) ─→ waiting for memory ─┐
///                    └──────────────────────── pausing, where the cause passes by itself
///
/// A signal that means the end goes to the attempt while one runs; in all other states it ends the
/// run with 128 + its number.
///
/// Where several nodes agree (`plan.party`), the leader decides all this for every node, and each
/// step waits for the others:
///
///     checking ─→ gathering ── AttemptAgreed ─→ attempting ─→ … what the leader proposes next
///                     ↑                            │
///                     └── a member's attempt has ended: the leader decides ←┘
///     the leader's last step: ending ── EndAgreed ─→ over
///
/// A signal goes to all nodes; a second one ends this agent at once.
class RunMachine {
 public:
  /// Both must outlive it.
  RunMachine(const plan::RunPlan& plan, Shelf& shelf) : plan_(plan), shelf_(shelf) {}

  [[nodiscard]] std::vector<RunAction> on(const RunEvent& event, TimePoint now);

  /// When PauseOver is to come; nullopt while there is no pause.
  [[nodiscard]] std::optional<TimePoint> deadline() const;

  /// How often the present profile has been tried again.
  [[nodiscard]] int retries_of_profile() const { return retries_of_profile_; }

  /// The step that the chain would take after the present attempt if it were lost for this reason,
  /// and if the profiles of `tried` had failed.
  [[nodiscard]] plan::NextStep would_follow(const diagnose::Diagnosis& diagnosis,
                                            const std::vector<std::string>& tried) const {
    return step_after(diagnosis, tried, attempts_ + 1);
  }

 private:
  struct Idle {};
  struct Checking {};
  struct Attempting {
    std::optional<SwitchFound> for_another;
    /// How the attempt ended on this node, as far as it is known here; nullopt: it runs.
    std::optional<report::AttemptSummary> ended_here;
  };
  /// An attempt has failed, and the profiles that may follow are being probed.
  struct Probing {
    report::AttemptSummary summary;
    diagnose::Diagnosis diagnosis;
  };
  struct Waiting {
    profile::Profile profile;
    Duration pause{};
  };
  struct Pausing {
    profile::Profile profile;
    TimePoint until{};
  };
  /// Several nodes: this one waits until they have agreed on what follows.
  struct Gathering {};
  struct Over {};

  void take(const RunBegins& event, TimePoint now);
  void take(const HostChecked& event, TimePoint now);
  void take(const AttemptStarted& event, TimePoint now);
  void take(const AttemptNotStarted& event, TimePoint now);
  void take(const AttemptEnded& event, TimePoint now);
  void take(const SwitchFound& event, TimePoint now);
  void take(const ProfileChosen& event, TimePoint now);
  void take(const MemoryBack& event, TimePoint now);
  void take(const PauseOver& event, TimePoint now);
  void take(const LeadsNodes&, TimePoint) { leads_ = true; }
  void take(const NodesReady& event, TimePoint now);
  void take(const AttemptAgreed& event, TimePoint now);
  void take(const AgreedOnNone& event, TimePoint now);
  void take(const NodesRefused& event, TimePoint now);
  void take(const OverEverywhere& event, TimePoint) {
    if (is<Attempting>()) decide(event.attempt);
  }
  void take(const EndedByNodes& event, TimePoint now);
  void take(const SignalPassedOn&, TimePoint) { passed_on_ = true; }
  void take(const EndAgreed& event, TimePoint now);
  void take(const launch::ReceivedSignal& event, TimePoint now);

  template <class State>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<State>(state_);
  }
  void say(std::string line) { actions_.push_back(SayLine{std::move(line)}); }
  void complain(std::string line) { actions_.push_back(SayFailure{std::move(line)}); }

  void begin(std::vector<std::string> risks, const std::string& blocked);
  void start_unless(const std::string& blocked);
  void note_profile(const profile::Profile& profile);
  [[nodiscard]] Result<void> take_agreed(const agree::Decision& go);
  [[nodiscard]] Result<void> go_on_from(const std::string& checkpoint);
  [[nodiscard]] profile::Profile profile_to_start();
  [[nodiscard]] plan::NextStep step_after(const diagnose::Diagnosis& diagnosis,
                                          std::vector<std::string> tried, int attempts) const;
  void record_undecided();
  void drop_next_attempt();
  [[nodiscard]] FinishedAttempt finished(const AttemptRecord& record) const {
    return {attempts_, profile_.name, record};
  }
  [[nodiscard]] report::AttemptSummary summary_here(int number, const EndedAttempt& attempt) const;
  [[nodiscard]] bool is_told_here() const;
  [[nodiscard]] bool is_echo(const launch::ReceivedSignal& event, TimePoint now);
  void start(const profile::Profile& profile);
  void decide(const EndedAttempt& attempt);
  void succeed(const EndedAttempt& attempt);
  void fail(const EndedAttempt& attempt);
  void switch_profile(const EndedAttempt& attempt, const SwitchFound& found);
  /// The loopback leads to all ranks of a job that is on this node alone.
  [[nodiscard]] bool may_name_the_loopback() const { return !agrees_ && plan_.nodes() == 1; }
  void take_seen(const EndedAttempt& attempt);
  [[nodiscard]] const std::optional<profile::Resume>& resume_of_profile() const;
  [[nodiscard]] bool stands_as_before(const EndedAttempt& attempt);
  [[nodiscard]] plan::NextStep step_again(const AttemptRecord& record, plan::NextStep otherwise);
  [[nodiscard]] plan::NextStep step_from_checkpoint(const AttemptRecord& record,
                                                    const profile::Resume& resume);
  void strike(const std::vector<std::string>& refuted);
  [[nodiscard]] plan::RunProgress progress(const diagnose::Diagnosis& diagnosis,
                                           std::vector<std::string> tried, int attempts) const;
  [[nodiscard]] bool worth_probing(const diagnose::Evidence& evidence,
                                   const diagnose::Diagnosis& diagnosis,
                                   const plan::NextStep& step) const;
  [[nodiscard]] std::vector<profile::Profile> candidates_after(
      const diagnose::Diagnosis& diagnosis) const;
  void follow(report::AttemptSummary summary, const plan::NextStep& step);
  void give_up(report::AttemptSummary summary, const diagnose::Diagnosis& diagnosis,
               const plan::NextStep& step);
  void end_by(int signal);
  void fail_with(int exit_code, const std::string& why);
  void end(int exit_code, std::string stopped_because);

  const plan::RunPlan& plan_;
  Shelf& shelf_;
  std::variant<Idle, Checking, Gathering, Attempting, Probing, Waiting, Pausing, Over> state_ =
      Idle{};
  bool agrees_ = false;     ///< this node acts by agreement with others
  bool leads_ = false;      ///< this node's decisions hold for all nodes
  bool signalled_ = false;  ///< the others were told that somebody wants the end
  struct Heard {
    int signal = 0;
    int sender = 0;
    TimePoint at{};
  };
  Heard heard_;               ///< the last signal that ends a job
  bool passed_on_ = false;    ///< the ranks have a signal that is yet to come here itself
  bool signal_here_ = false;  ///< somebody wanted the end at this node
  bool warned_ = false;       ///< SIGUSR1 or SIGUSR2 has come
  struct LastAttempt {
    bool interrupted = false;  ///< a signal ended the attempt, at any node
    bool went_well = false;    ///< the attempt went well on this node
  };
  LastAttempt last_;
  std::string blocked_;       ///< why this node's checks forbid the run; empty: they do not
  int attempts_ = 0;          ///< how many attempts have ended
  profile::Profile profile_;  ///< the profile of the present attempt, or of the last
  int retries_of_profile_ = 0;
  std::optional<profile::Resume> resume_;  ///< how all attempts begin since one began so
  int resumed_ = 0;                        ///< attempts that resume or retry has added
  int retries_ = 0;                        ///< those of retry
  std::optional<int> starts_;              ///< those from the newest one
  std::string checkpoint_;                 ///< the newest one; empty: none was begun from
  plan::FormerPort former_port_ = plan::FormerPort::none;
  std::vector<std::string> tried_;
  plan::SeenOfJob seen_;
  bool some_came_ = false;    // see SeenOfJob::came
  bool some_hooked_ = false;  // see SeenOfJob::hooked
  bool by_loopback_ = false;
  std::vector<diagnose::Confirmation> facts_;  // of this host, known before the first attempt
  std::string places_;                   // where the ranks stood in the last attempt, if it hung
  std::vector<plan::Impasse> impasses_;  ///< the impasses of the attempts until now
  int exit_code_ = 125;                  ///< the exit status of the last attempt
  std::vector<RunAction> actions_;
};

}  // namespace safelaunch::run
