#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "safelaunch/base/disk_queue.h"
#include "safelaunch/host/left_files.h"
#include "safelaunch/profile/apply.h"
#include "safelaunch/report/event_log.h"
#include "safelaunch/report/run_directory.h"
#include "safelaunch/report/summary.h"
#include "safelaunch/run/plan.h"
#include "safelaunch/run/ranks_seen.h"

/// What a run leaves behind: files of its run directory (docs/run-directory.md), and what it tells.
namespace safelaunch::run {

/// Writes a file as a whole, in its turn.
void write_later(DiskQueue& disk, std::filesystem::path file, std::string text);

/// job.json: whose run this is, for `safelaunch status`.
void write_job_file(DiskQueue& disk, const report::RunDirectory& directory, const RunPlan& plan,
                    const report::RunSummary& summary);

/// env.diff: how the environment of an attempt differs from the user's, and who decided it.
void write_env_diff(DiskQueue& disk, const std::filesystem::path& attempt,
                    const std::vector<profile::Difference>& differences, const Redactor& redactor);

/// What NCCL told of itself, as an event of the record; none where it was not there.
void record_nccl(report::EventLog& log, const NcclRecord& nccl);

/// What the ranks of a hang answered of their collectives, and what it shows; none where none did.
void record_collectives(report::EventLog& log, const RankAnswers& answers);

/// The segments that were removed behind an attempt; none where there were none.
void record_removed_segments(report::EventLog& log, const std::vector<host::LeftFile>& removed);

/// What a profile costs, as it is judged: "none", or "large (gloo over TCP instead of NCCL)".
[[nodiscard]] std::string cost_in_words(const profile::Profile& profile);

/// The same beside the first of the chain, as it was measured here, where it was.
[[nodiscard]] std::string cost_in_words(const RunPlan& plan, const profile::Profile& profile);

/// Whether a run has probed its host.
enum class Probed { no, yes };

/// Remembers that the profile worked here, if others had failed before it, or if the host was
/// probed, which then need not be done again; forgets if asked to.
void remember_success(const RunPlan& plan, const profile::Profile& profile, int attempts,
                      Probed probed);

}  // namespace safelaunch::run
