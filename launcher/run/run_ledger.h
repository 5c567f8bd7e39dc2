#pragma once

#include <atomic>
#include <filesystem>
#include <memory>

#include "safelaunch/base/disk_queue.h"
#include "safelaunch/base/finding.h"
#include "safelaunch/diagnose/diagnosis.h"
#include "safelaunch/host/left_files.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/profile/apply.h"
#include "safelaunch/ranks/ranks_seen.h"
#include "safelaunch/redact/redactor.h"
#include "safelaunch/report/event_log.h"
#include "safelaunch/report/run_directory.h"
#include "safelaunch/report/summary.h"

namespace safelaunch::run {

/// The record of a run, from its beginning to its end: the run directory, its events, and the
/// summary that becomes outcome.json. The DiskQueue writes all of it. If nothing can be recorded,
/// the job runs all the same.
class RunLedger {
 public:
  RunLedger(DiskQueue& disk, TimePoint began) : disk_(disk), began_(began) {}
  RunLedger(const RunLedger&) = delete;  // the events refer to our redactor
  RunLedger& operator=(const RunLedger&) = delete;

  /// An error only for a --run-dir or --log-dir that cannot be made or written.
  Result<void> open(const plan::RunPlan& plan);

  [[nodiscard]] const std::string& run_id() const { return summary_.run_id; }
  /// Empty where nothing can be recorded; `trouble()` says why, or why it is not as wanted.
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_.path(); }
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  [[nodiscard]] std::uint64_t lost_events() const { return events_.lost(); }
  [[nodiscard]] report::EventLog& events() { return events_; }
  /// Knows the secrets of the plan, and those that were seen since.
  [[nodiscard]] const redact::Redactor& redactor() const { return redactor_; }
  /// Learns a secret, which is left out of everything that is shown or kept from now on.
  void learn_secret(const std::string& secret) { redactor_.learn_value(secret); }
  [[nodiscard]] const report::RunSummary& summary() const { return summary_; }

  /// The folder in which attempts get their folders.
  [[nodiscard]] const report::RunDirectory& run_directory() const { return directory_; }
  void note(const Finding& finding);
  void note_cause(const diagnose::Diagnosis& diagnosis);
  /// An attempt is over, and it is decided what follows. The places of missing ranks get their line
  /// of source, where the disk answers at once.
  void add(report::AttemptSummary attempt);
  void set_cost(std::string cost) { summary_.cost = std::move(cost); }

  /// The run is over: writes outcome.json, and where the run took place if there is anything to
  /// tell.
  void close(int exit_code, std::string stopped_because, const plan::RunPlan& plan);
  /// Writes the page for people, where there is anything to tell.
  void write_page(const Environment& environment);
  /// Why the end of the run is not recorded; empty where it is. To be asked once the disk has done
  /// all its tasks.
  [[nodiscard]] std::string loss() const;

 private:
  void note_host(const plan::RunPlan& plan);
  void write_outcome();

  DiskQueue& disk_;
  TimePoint began_;
  report::RunDirectory directory_;
  redact::Redactor redactor_;
  std::string trouble_;
  report::EventLog events_;
  report::RunSummary summary_;
  /// The error with which outcome.json could not be written; the disk's thread sets it.
  std::shared_ptr<std::atomic<int>> outcome_failed_ = std::make_shared<std::atomic<int>>(0);
};

/// Writes job.json, which tells `safelaunch status` whose run this is.
void write_job_file(DiskQueue& disk, const report::RunDirectory& directory,
                    const plan::RunPlan& plan, const report::RunSummary& summary,
                    const redact::Redactor& redactor);

/// Writes env.diff: how the environment of an attempt differs from the user's, and who decided it.
void write_env_diff(DiskQueue& disk, const std::filesystem::path& attempt,
                    const std::vector<profile::Difference>& differences,
                    const redact::Redactor& redactor);

/// Records NCCL's account of itself as an event; nothing if the job did not use NCCL.
void record_nccl(report::EventLog& log, const nccl::Record& nccl);

/// Records which collectives the ranks of a hang named, and the conclusion; nothing if none did.
void record_collectives(report::EventLog& log, const ranks::RankAnswers& answers);

/// Records the segments that were removed behind an attempt; nothing if there were none.
void record_removed_segments(report::EventLog& log, const std::vector<host::LeftFile>& removed);

/// Whether a run has probed its host.
enum class Probed { no, yes };

/// Remembers that the profile worked here, if others had failed before it, or if the host was
/// probed, which then need not be done again; forgets if asked to.
void remember_success(const plan::RunPlan& plan, const profile::Profile& profile, int attempts,
                      Probed probed);

}  // namespace safelaunch::run
