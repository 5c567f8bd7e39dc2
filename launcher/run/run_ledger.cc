#include "safelaunch/run/run_ledger.h"

#include "safelaunch/report/html_report.h"
#include "safelaunch/run/records.h"

namespace safelaunch {

Result<void> RunLedger::open(const RunPlan& plan) {
  summary_.run_id = new_run_id();
  redactor_ = redactor_for(plan);
  summary_.command = redactor_.redact(plan.options.command);
  Result<RunDirectory> made =
      RunDirectory::create(plan.options.run_dir, summary_.run_id, plan.environment);
  if (!made) return made.error();
  directory_ = std::move(*made);
  if (directory().empty()) return {};
  summary_.directory = directory().native();
  events_ = EventLog(directory() / "events.jsonl", began_, redactor_);
  events_.record("run", {{"run", summary_.run_id}, {"command", summary_.command}});
  write_job_file(directory_, plan, summary_);
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
    (void)write_atomically(directory() / "outcome.json", outcome_json(summary_));
}

void RunLedger::write_page(const Environment& environment) const {
  if (!directory().empty() && worth_telling(summary_))
    (void)write_report_page(directory(), environment);
}

}  // namespace safelaunch
