#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "safelaunch/base/disk_queue.h"
#include "safelaunch/base/log.h"
#include "safelaunch/launch/guardian.h"
#include "safelaunch/output/terminal_writer.h"
#include "safelaunch/run/attempt_spec.h"
#include "safelaunch/run/gpu_memory.h"
#include "safelaunch/run/host_checks.h"
#include "safelaunch/run/next_step.h"
#include "safelaunch/run/port_choice.h"
#include "safelaunch/run/run_ledger.h"
#include "safelaunch/run/run_probe.h"
#include "safelaunch/run/run_voice.h"

namespace safelaunch {

/// Everything of one run. Its handlers follow each other in the order in which they stand here,
/// those of an attempt's start in run_job.cc, those of its end in run_outcome.cc.
class Run {
 public:
  explicit Run(RunPlan plan)
      : plan_(std::move(plan)),
        streams_(inspect_streams()),
        ledger_(disk_, Clock::now()),
        reaper_(io_,
                [this](int pid, const ExitStatus& status) {
                  if (attempt_) attempt_->orphan_ended(pid, status);
                }),
        guardian_(io_),
        signals_(io_, [this](const ReceivedSignal& received) { on_signal(received); }),
        terminal_(io_, streams_),
        voice_(plan_, streams_, terminal_, ledger_.summary()),
        gpu_memory_(io_, reaper_, plan_.environment),
        pause_(io_) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { set_log_writer({}); }  // which wrote to our terminal

  int run();

 private:
  void check_host();
  void take_report(const HostReport& report);
  void begin();
  int end();
  void start_attempt(const Profile& profile);
  Result<void> try_to_start(const Profile& profile);
  [[nodiscard]] Attempt::Observer attempt_observer();
  void probe_beside(const Profile& profile);
  /// What an attempt needs of the disk.
  struct Prepared {
    std::filesystem::path directory;
    std::optional<HookDoor> hook;
    NcclDoor nccl;
    std::string trouble;
  };
  Prepared prepare(const std::string& profile);
  void leave_out_what_another_user_cannot_use(Prepared& prepared);
  [[nodiscard]] Services services() { return {io_, reaper_, terminal_, ledger_.events(), disk_}; }
  void on_attempt_end(const AttemptRecord& record);
  void on_failure(const AttemptRecord& record);
  void on_switched();
  void take_seen(const RanksSeen& ranks);
  [[nodiscard]] RunProgress progress(const Diagnosis& diagnosis, std::vector<std::string> tried);
  [[nodiscard]] Evidence evidence_of(const AttemptRecord& record) const;
  void strike_refuted();
  [[nodiscard]] bool worth_probing(const Evidence& evidence, const Diagnosis& diagnosis,
                                   const NextStep& step) const;
  void probe_what_follows(const Diagnosis& diagnosis, const NextStep& step);
  [[nodiscard]] std::vector<const Profile*> candidates_after(const Diagnosis& diagnosis);
  void take_chosen(const std::string& profile, const Diagnosis& diagnosis);
  void follow(const Diagnosis& diagnosis, const NextStep& step);
  void go_on(const NextStep& step);
  void start_after(Duration wait, const Profile& profile);
  void fail(const AttemptRecord& record, const Diagnosis& diagnosis, std::string why);
  void close(std::string stopped_because);
  void give_up(const Error& error);
  void on_signal(const ReceivedSignal& received);
  void remember_what_worked();
  [[nodiscard]] std::span<const Profile> known_profiles();
  int refuse(const Error& error);

  RunPlan plan_;
  StandardStreams streams_;
  DiskQueue disk_;
  RunLedger ledger_;
  boost::asio::io_context io_{1};
  Reaper reaper_;
  GuardianWatch guardian_;
  SignalIntake signals_;
  TerminalWriter terminal_;
  RunVoice voice_;
  GpuMemory gpu_memory_;
  boost::asio::steady_timer pause_;

  std::optional<HostChecks> checks_;
  std::unique_ptr<Attempt> attempt_;
  const Profile* profile_ = nullptr;
  std::optional<RunProbe> probe_;  // beside the first attempt, or behind it
  struct Switch {
    Diagnosis diagnosis;
    NextStep step;
  };
  std::optional<Switch> switch_;  // to another profile, for what the probe has shown
  std::optional<PortLease> port_;
  FormerPort former_port_ = FormerPort::none;
  std::optional<std::int64_t> oom_kills_before_;  // the attempt
  int retries_of_profile_ = 0;
  std::vector<std::string> tried_;
  SeenOfJob seen_;
  std::vector<Impasse> impasses_;  // of the attempts until now
  std::vector<Profile> known_;
  std::optional<int> interrupted_;
  int exit_code_ = 125;
};

}  // namespace safelaunch
