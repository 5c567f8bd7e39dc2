#pragma once

#include <span>

#include "safelaunch/base/finding.h"
#include "safelaunch/clean/stale.h"
#include "safelaunch/clean/stale_file.h"
#include "safelaunch/doctor/host_facts.h"

namespace safelaunch::doctor {

/// A finding, with the files and processes that `safelaunch doctor --fix` may remove and end for
/// it. Each of them is proven ours; nothing else is touched.
struct Advice {
  Finding finding;
  std::vector<clean::StaleFile> files;
  std::vector<clean::StaleProcess> processes;

  [[nodiscard]] bool can_be_fixed() const { return !files.empty() || !processes.empty(); }
};

/// Judges the facts for the coming run and puts the gravest finding first. Decides in values: it
/// reads no file and asks no clock. The checks stand in launcher/doctor/check_*.cc, one file a
/// theme.
[[nodiscard]] std::vector<Advice> examine(const HostFacts& facts);

/// The findings that are worth a word before each run: those that block it and the risks. Notes are
/// left out, and so are mistakes in the command, because a run tells them in any case. Costs
/// milliseconds, opens no connection and asks a name server only for this host's own names, where
/// /etc/hosts lacks them, for 0.3 s.
[[nodiscard]] std::vector<Finding> preflight_findings(Subject subject);

/// True if the finding forbids the run.
[[nodiscard]] bool blocks(const Finding& finding);

/// One line for each file and process that `--fix` has dealt with.
using FixReport = std::vector<std::string>;

/// Removes the files and ends the processes of the advices. Each is looked at again just before,
/// and has its line in the report, whether that went well or not. Blocks while processes end.
[[nodiscard]] FixReport fix(std::span<const Advice> advices);

}  // namespace safelaunch::doctor
