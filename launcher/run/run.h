#pragma once

#include <boost/asio/io_context.hpp>

#include "attempt_spec.h"
#include "leftovers.h"
#include "metrics.h"
#include "nodes.h"
#include "notifier.h"
#include "run_ledger.h"
#include "run_machine.h"
#include "run_probe.h"
#include "run_voice.h"
#include "safelaunch/base/alarm.h"
#include "safelaunch/base/disk_queue.h"
#include "safelaunch/base/log.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/launch/guardian.h"
#include "safelaunch/output/terminal_writer.h"
#include "safelaunch/ranks/attempt_place.h"

namespace safelaunch::run {

/// One run: performs what a RunMachine decides, and owns what lives as long as the run.
class Run final : Nodes::Listener, Shelf {
 public:
  explicit Run(plan::RunPlan plan);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { set_log_writer({}); }  // the log writer writes to our terminal, which goes

  /// The exit status of safelaunch.
  int run();

 private:
  void say_warnings();
  void keep_metrics();
  void remember_telling(const profile::Telling& telling);
  int leave();

  void take(const RunEvent& event) override;
  void set_timer();

  // The machine's actions; those without a line here are for the other nodes.
  void perform(const CheckHost& check);
  void perform(const StartAttempt& start);
  void perform(const ProbeBesideAttempt& probe);
  void perform(const SignalAttempt& signal) { attempt_->signal(signal.received); }
  void perform(const EndAttemptForAnother&) { attempt_->give_way(); }
  void perform(const ProbeCandidates& probe);
  void perform(const AwaitGpuMemory& wait);
  void perform(const RecordFinding& record) { ledger_.note(record.finding); }
  void perform(const RecordCause& record) { ledger_.note_cause(record.diagnosis); }
  void perform(const RecordAttempt& record);
  void perform(const SayLine& line) { voice_.say(line.text); }
  void perform(const SayFailure& line) { voice_.tell_error(line.text); }
  void perform(const TellFallback& tell) { voice_.tell_of_fallback(tell.step); }
  void perform(const TellStruckOut& tell) { voice_.tell_of_struck_out(tell.step); }
  void perform(const TellFirstFailure& tell) {
    voice_.tell_of_first_failure(record_, tell.diagnosis);
  }
  void perform(const TellSwept&) { voice_.tell_of_swept(record_.swept); }
  void perform(const KeepWhatWorked& keep);
  void perform(const JoinNodes& join);
  void perform(const PartFromNodes&) { parted_from_ = std::move(nodes_); }
  void perform(const ProposeAttempt& proposal);
  void perform(const TellNotStarted& told) {
    nodes_->tell_not_started(attempt_number_, told.error);
  }
  void perform(const EndRun& end);
  void perform(const auto& wish) { tell_nodes(wish); }

  // The news of the attempt; those without a line here are for the other nodes.
  void hear(const ranks::TellMeeting& news);
  void hear(const AttemptStops& news);
  void hear(const launch::ReceivedSignal& key) { take(key); }
  void hear(const report::record::Stall& stall);
  void hear(AttemptRecord record);
  void hear(const auto& news) { tell_nodes(news); }

  /// There are none where this node was refused as it came: a token, an address.
  void tell_nodes(const auto& news) {
    if (nodes_) nodes_->take(news);
  }
  void notify(const Notice& notice);

  Result<void> start_attempt(const StartAttempt& start);
  ranks::AttemptPlace prepare(const StartAttempt& start);
  [[nodiscard]] Logs tell_of_lost_logs();
  void write_json_report();
  void leave_out_what_another_user_cannot_use(ranks::AttemptPlace& place, int attempt);
  std::span<const profile::Profile> all_profiles() override;
  std::optional<profile::Profile> profile_named(const std::string& name) override;
  const diagnose::Catalogue& catalogue() override { return diagnose::catalogue(); }
  void note_checkpoints(const std::string& pattern) override;
  std::optional<plan::CheckpointsSeen> checkpoints_of(const std::string& pattern) override;
  std::optional<bool> has_checkpoint(const std::string& path) override;
  Attempt* attempt() override { return attempt_.get(); }
  void over_everywhere(const std::vector<OtherNode>& others,
                       const std::vector<ranks::NodeName>& lost) override;
  void ways_told(const report::record::Ways& ways) override { ledger_.events().record(ways); }
  void say(const std::string& line) override { voice_.say(line); }
  std::string redact(std::string text) override { return ledger_.redactor().redact(text); }
  /// nullopt: there may be GPUs, and nobody has told how many.
  [[nodiscard]] std::optional<int> gpus_here() const;
  [[nodiscard]] EndedAttempt ended(const diagnose::Evidence& evidence) const;
  Result<void> take_port(const StartAttempt& start);
  [[nodiscard]] diagnose::Evidence evidence_of(const AttemptRecord& record) const;
  [[nodiscard]] std::vector<std::string> refuted() const;
  [[nodiscard]] ranks::Services services() {
    return {io_, reaper_, terminal_, ledger_.events(), disk_};
  }

  plan::RunPlan plan_;
  output::StandardStreams streams_;
  DiskQueue disk_;
  DiskQueue checkpoints_disk_;  ///< a slow file server must not hold up the record
  /// The checkpoints before the attempt; that queue's thread alone reads and writes them.
  std::shared_ptr<plan::Checkpoints> noted_ = std::make_shared<plan::Checkpoints>();
  DiskQueue json_writer_;  ///< for --json=FILE: a FIFO without a reader must not hold up the record
  RunLedger ledger_;
  boost::asio::io_context io_{1};
  launch::Reaper reaper_;
  launch::GuardianWatch guardian_;
  launch::SignalIntake signals_;
  output::TerminalWriter terminal_;
  RunVoice voice_;
  Notifier notifier_;
  std::optional<MetricsFile> metrics_;
  GpuMemory gpu_memory_;
  Alarm timer_;
  RunMachine machine_;

  std::unique_ptr<Nodes> nodes_;  ///< the other nodes; none where this one runs alone
  /// Kept alive, since the call that parts us may have come from it.
  std::unique_ptr<Nodes> parted_from_;
  std::optional<plan::HostChecks> checks_;
  std::unique_ptr<Attempt> attempt_;
  int attempt_number_ = 0;                     ///< the number of the attempt that runs, or ran last
  AttemptRecord record_;                       ///< the record of the attempt that ended last
  std::vector<output::Recording> recordings_;  ///< the recordings of the attempts that have ended
  std::optional<RunProbe> probe_;              ///< the probe beside the first attempt, or behind it
  std::optional<clean::PortLease> port_;
  std::optional<int> commands_port_;  // see plan::PortChoice::kept
  bool keeps_port_ = false;           ///< the user insists on that port
  /// The OOM kills in our cgroup before the present attempt.
  std::optional<std::int64_t> oom_kills_before_;
  std::vector<int> former_pids_;              ///< the pids of the ranks of earlier attempts
  std::vector<std::string> added_arguments_;  ///< by the profile of this attempt, to the script's
  std::vector<profile::Profile> known_;
  int exit_code_ = 125;
};

}  // namespace safelaunch::run
