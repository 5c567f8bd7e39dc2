#include "run_ledger.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "host_account.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/launch/guardian.h"
#include "safelaunch/profile/profile_text.h"
#include "safelaunch/report/report.h"

// The record of a run is written through the disk's own thread, so a frozen file system costs the
// record and not the job. Secrets are taken out before a text leaves this file.
namespace safelaunch::run {
namespace {

constexpr Duration kFolderMadeWithin{3'000};
constexpr Duration kSourceReadWithin{500};
constexpr Duration kHostReadWithin{1'000};

struct Opened {
  Result<report::RunDirectory> directory;
  report::EventLog events;
};

struct Wanted {
  std::filesystem::path run_dir;
  std::filesystem::path log_dir;
  std::string run_id;
  Environment environment;
};

// The disk's thread runs this, and a frozen disk may keep it here while the run goes on: so
// `wanted` is a copy, and `disk` and `redactor` live as long as the program.
Opened open_record(const Wanted& wanted, TimePoint began, redact::Redactor& redactor,
                   DiskQueue& disk) {
  if (!wanted.log_dir.empty())
    if (const auto made = report::make_named_folder("--log-dir", wanted.log_dir); !made)
      return {made.error(), {}};
  Opened opened{report::RunDirectory::create(wanted.run_dir, wanted.run_id, wanted.environment),
                {}};
  if (opened.directory && !opened.directory->path().empty())
    opened.events =
        report::EventLog(opened.directory->path() / "events.jsonl", began, redactor, &disk);
  return opened;
}

}  // namespace

Result<void> RunLedger::open(const plan::RunPlan& plan) {
  summary_.run_id = report::new_run_id();
  redactor_ = plan::redactor_for(plan);
  summary_.command = redactor_.redact(plan.options.command);
  const Wanted wanted{plan.options.run_dir, plan.options.log_dir, summary_.run_id,
                      plan.environment};
  // A disk that does not answer costs the record and not the run.
  std::optional<Opened> opened = disk_.within(
      kFolderMadeWithin, [this, wanted] { return open_record(wanted, began_, redactor_, disk_); });
  if (!opened) {
    trouble_ = disk_.has_no_thread()
                   ? "nothing is recorded: the host gives safelaunch no thread (ulimit -u, or the "
                     "cgroup's pids.max)"
                   : "nothing is recorded: the file system of the state folder does not answer";
    return {};
  }
  if (!opened->directory) return opened->directory.error();
  directory_ = std::move(*opened->directory);
  trouble_ = directory_.trouble();
  if (directory().empty()) return {};
  summary_.directory = directory().native();
  events_ = std::move(opened->events);
  events_.record(report::record::Run{summary_.run_id, summary_.command});
  write_job_file(disk_, directory_, plan, summary_, redactor_);
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

void RunLedger::add(report::AttemptSummary attempt) {
  summary_.attempts.push_back(std::move(attempt));
  std::optional<Failure>& failure = summary_.attempts.back().failure;
  if (!failure || failure->places.empty()) return;
  auto places = disk_.within(kSourceReadWithin, [failure = *failure] {
    std::error_code gone;
    return report::with_source_lines(failure, std::filesystem::current_path(gone));
  });
  if (places) failure->places = *std::move(places);
}

void RunLedger::close(int exit_code, std::string stopped_because, const plan::RunPlan& plan) {
  summary_.exit_code = exit_code;
  summary_.stopped_because = std::move(stopped_because);
  summary_ = report::redacted(std::move(summary_), redactor_);
  note_host(plan);
  events_.record(report::record::End{exit_code});
  if (!directory().empty()) write_outcome();
}

// A task may outlive this run, so it has a copy of the plan.
void RunLedger::note_host(const plan::RunPlan& plan) {
  if (directory().empty() || !report::worth_telling(summary_)) return;
  const auto account = disk_.within(kHostReadWithin, [plan] { return account_of_host(plan); });
  if (account) events_.record(*account);
}

void RunLedger::write_outcome() {
  std::string text = report::outcome_json(summary_);
  const std::size_t size = text.size();
  const auto write = [path = directory() / "outcome.json", whole = std::move(text),
                      failed = outcome_failed_] {
    if (!replace_file(path, whole)) *failed = errno;
  };
  if (!disk_.post(size, write)) *outcome_failed_ = EBUSY;  // no room in the queue of a slow disk
}

std::string RunLedger::loss() const {
  if (const int error = *outcome_failed_; error != 0)
    return fmt::format("how this run ended is not recorded: {}", std::strerror(error));
  return {};
}

void RunLedger::write_page(const Environment& environment) {
  if (directory().empty() || !report::worth_telling(summary_)) return;
  // Made of what stands on the disk by then.
  const auto write = [folder = directory(), environment] {
    (void)report::write_report_page(folder, environment);
  };
  if (!disk_.post(0, write)) log_warning("the disk is too slow: no page is written");
}

void write_job_file(DiskQueue& disk, const report::RunDirectory& directory,
                    const plan::RunPlan& plan, const report::RunSummary& summary,
                    const redact::Redactor& redactor) {
  const int guardian = launch::guardian_pid();
  // The pid that the user knows is the guardian's, and it lives longest.
  const auto facts = host::facts_of(guardian != 0 ? guardian : getpid());
  nlohmann::ordered_json json;
  json["run"] = summary.run_id;
  json["pid"] = facts ? facts->id.pid : 0;
  json["start_ticks"] = facts ? facts->id.start_ticks : 0;
  json["boot_id"] = host::read_boot_id();
  json["started"] = wall_time_now();
  json["command"] = summary.command;
  json["options"] = redactor.redact(settings::words_given(plan.options));
  std::error_code gone;  // a folder that was removed under us is no reason not to run
  json["directory"] = std::filesystem::current_path(gone).native();
  if (!plan.options.log_dir.empty())
    json["log_dir"] = std::filesystem::absolute(plan.options.log_dir, gone).native();
  json["chain"] = plan.chain_names;
  report::write_later(
      disk, directory.path() / "job.json",
      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void write_env_diff(DiskQueue& disk, const std::filesystem::path& attempt,
                    const std::vector<profile::Difference>& differences,
                    const redact::Redactor& redactor) {
  if (attempt.empty() || differences.empty()) return;
  report::write_later(disk, attempt / "env.diff",
                      profile::render_differences(differences, redactor));
}

void record_nccl(report::EventLog& log, const nccl::Record& nccl) {
  if (!nccl.any) return;
  const auto list = [](const std::set<std::string>& words) {
    return std::vector<std::string>(words.begin(), words.end());
  };
  log.record(report::record::Nccl{.version = nccl.version ? to_string(*nccl.version) : "",
                                  .interface = list(nccl.interfaces),
                                  .network = list(nccl.networks),
                                  .transport = list(nccl.transports),
                                  .read = nccl.variables,
                                  .unread = nccl.unread,
                                  .standing = describe_standing(nccl)});
}

void record_collectives(report::EventLog& log, const ranks::RankAnswers& answers) {
  if (answers.collectives.empty()) return;
  std::vector<std::string> ranks;
  for (const auto& [rank, seen] : answers.collectives)
    ranks.push_back(fmt::format("rank {}: {}", rank.value, describe(seen)));
  const watch::CollectivesCompared compared = watch::compare(answers.collectives);
  log.record(report::record::Collectives{ranks, compared.contradiction, compared.behind_what,
                                         compared.store_waits});
}

void record_removed_segments(report::EventLog& log, const std::vector<host::LeftFile>& removed) {
  if (removed.empty()) return;
  std::uint64_t bytes = 0;
  std::vector<std::string> paths;
  for (const host::LeftFile& file : removed) {
    bytes += file.bytes;
    paths.push_back(file.path);
  }
  log.record(report::record::Segments{paths, static_cast<std::int64_t>(bytes)});
}

void remember_success(const plan::RunPlan& plan, const profile::Profile& profile, int attempts,
                      Probed probed) {
  // A first profile that works at once would be tried first next time anyway.
  const bool worth_it = attempts >= 2 || probed == Probed::yes;
  if (!worth_it && !plan.options.forget) return;
  const std::string file = profile::memory_file(plan.environment);
  if (file.empty()) return;
  const profile::HostKey key = plan::host_key(plan);
  const std::string job = plan::job_of(plan);
  profile::Memory memory = profile::load_memory(file);
  if (plan.options.forget) memory = profile::forget(std::move(memory), key, job);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  // A profile of large cost is remembered for this job alone, since another script may well need
  // none.
  const bool for_this_job = profile.cost == profile::Cost::large;
  if (worth_it)
    memory = profile::remember(std::move(memory),
                               {key, profile.name, now, for_this_job ? job : std::string()});
  if (const auto saved = profile::save_memory(file, memory); !saved)
    log_debug(saved.error().message);
}

}  // namespace safelaunch::run
