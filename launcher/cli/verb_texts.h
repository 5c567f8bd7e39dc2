#pragma once

#include <optional>
#include <span>
#include <string>

#include "safelaunch/clean/removal.h"
#include "safelaunch/doctor/facts.h"
#include "safelaunch/report/kept_runs.h"
#include "safelaunch/report/status.h"

/// What verbs show, made of values.
namespace safelaunch::cli {

/// A job that runs now.
struct RunningRun {
  report::RunLine line;
  report::RunStatus status;
};

/// The screen of `status`. Where nothing runs it tells how the last run ended, if there was one.
[[nodiscard]] std::string render_running(std::span<const RunningRun> runs,
                                         const std::optional<report::RunLine>& last);

/// The list of `clean`, a line each, and the same as JSON.
[[nodiscard]] std::string render_removals(std::span<const clean::Removal> lines);
[[nodiscard]] std::string removals_json(std::span<const clean::Removal> lines);

/// The versions that a support bundle tells: safelaunch's, the frameworks' and the libraries'.
[[nodiscard]] std::string versions_text(const doctor::HostFacts& facts);

}  // namespace safelaunch::cli
