#include "run_ledger.h"

#include "safelaunch/base/log.h"
#include "safelaunch/report/report.h"
#include "safelaunch/run/records.h"

namespace safelaunch::run {
namespace {

constexpr Duration kFolderMadeWithin{3'000};

}  // namespace

Result<void> RunLedger::open(const RunPlan& plan) {
  summary_.run_id = report::new_run_id();
  redactor_ = redactor_for(plan);
  summary_.command = redactor_.redact(plan.options.command);
  struct Opened {
    Result<report::RunDirectory> directory;
    report::EventLog events;
  };
  // By value, but for what the events only keep: a frozen disk's thread may still be here when the
  // run goes on without it.
  const auto open = [this, wanted = plan.options.run_dir, id = summary_.run_id,
                     environment = plan.environment] {
    Opened result{report::RunDirectory::create(wanted, id, environment), {}};
    if (result.directory && !result.directory->path().empty())
      result.events =
          report::EventLog(result.directory->path() / "events.jsonl", began_, redactor_, &disk_);
    return result;
  };
  std::optional<Opened> opened = disk_.within(kFolderMadeWithin, open);
  if (!opened) {
    trouble_ = "nothing is recorded: the file system of the state folder does not answer";
    return {};
  }
  if (!opened->directory) return opened->directory.error();
  directory_ = std::move(*opened->directory);
  trouble_ = directory_.trouble();
  if (directory().empty()) return {};
  summary_.directory = directory().native();
  events_ = std::move(opened->events);
  events_.record(report::record::Run{summary_.run_id, summary_.command});
  write_job_file(disk_, directory_, plan, summary_);
  return {};
}

void RunLedger::note(const Finding& finding) {
  events_.record(report::record::Finding{finding.cause, name(finding.severity), finding.evidence,
                                         finding.remedy});
}

void RunLedger::note_cause(const diagnose::Diagnosis& diagnosis) {
  events_.record(report::record::Cause{diagnosis.failure.cause, name(diagnosis.failure.certainty),
                                       diagnosis.failure.explanation});
}

void RunLedger::close(int exit_code, std::string stopped_because) {
  summary_.exit_code = exit_code;
  summary_.stopped_because = std::move(stopped_because);
  summary_ = report::redacted(std::move(summary_), redactor_);
  events_.record(report::record::End{exit_code});
  if (!directory().empty())
    write_later(disk_, directory() / "outcome.json", report::outcome_json(summary_));
}

void RunLedger::write_page(const Environment& environment) {
  if (directory().empty() || !report::worth_telling(summary_)) return;
  // Made of what stands on the disk by then.
  const auto write = [folder = directory(), environment] {
    (void)report::write_report_page(folder, environment);
  };
  if (!disk_.post(0, write)) log_warning("no page is written: the disk does not keep up");
}

}  // namespace safelaunch::run
