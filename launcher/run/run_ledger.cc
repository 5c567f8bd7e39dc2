#include "safelaunch/run/run_ledger.h"

#include "safelaunch/base/log.h"
#include "safelaunch/report/html_report.h"
#include "safelaunch/run/records.h"

namespace safelaunch {
namespace {

constexpr Duration kFolderMadeWithin{3'000};

}  // namespace

Result<void> RunLedger::open(const RunPlan& plan) {
  summary_.run_id = new_run_id();
  redactor_ = redactor_for(plan);
  summary_.command = redactor_.redact(plan.options.command);
  struct Opened {
    Result<RunDirectory> directory;
    EventLog events;
  };
  std::optional<Opened> opened = disk_.within(kFolderMadeWithin, [this, &plan] {
    Opened result{RunDirectory::create(plan.options.run_dir, summary_.run_id, plan.environment),
                  {}};
    if (result.directory && !result.directory->path().empty())
      result.events =
          EventLog(result.directory->path() / "events.jsonl", began_, redactor_, &disk_);
    return result;
  });
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
  events_.record("run", {{"run", summary_.run_id}, {"command", summary_.command}});
  write_job_file(disk_, directory_, plan, summary_);
  return {};
}

std::filesystem::path RunLedger::next_attempt(std::string_view profile) const {
  return directory_.attempt(attempts() + 1, profile);
}

void RunLedger::note(const Finding& finding) {
  events_.record("finding", {{"id", finding.cause},
                             {"severity", name(finding.severity)},
                             {"evidence", finding.evidence},
                             {"remedy", finding.remedy}});
}

void RunLedger::note_cause(const Diagnosis& diagnosis) {
  events_.record("cause", {{"id", diagnosis.cause},
                           {"certainty", std::string(name(diagnosis.certainty))},
                           {"text", diagnosis.explanation}});
}

AttemptSummary& RunLedger::add(const std::string& profile, const AttemptRecord& record) {
  AttemptSummary attempt;
  attempt.number = attempts() + 1;
  attempt.profile = profile;
  attempt.took = record.took;
  attempt.stages = record.stages;
  return summary_.attempts.emplace_back(std::move(attempt));
}

void RunLedger::close(int exit_code, std::string stopped_because) {
  summary_.exit_code = exit_code;
  summary_.stopped_because = std::move(stopped_because);
  summary_ = redacted(std::move(summary_), redactor_);
  events_.record("end", {{"exit_status", std::int64_t{exit_code}}});
  if (!directory().empty())
    write_later(disk_, directory() / "outcome.json", outcome_json(summary_));
}

void RunLedger::write_page(const Environment& environment) {
  if (directory().empty() || !worth_telling(summary_)) return;
  // Made of what stands on the disk by then.
  const auto write = [folder = directory(), environment] {
    (void)write_report_page(folder, environment);
  };
  if (!disk_.post(0, write)) log_warning("no page is written: the disk does not keep up");
}

}  // namespace safelaunch
