#pragma once

#include <span>
#include <string>
#include <vector>

#include "safelaunch/base/finding.h"
#include "safelaunch/clean/stale.h"
#include "safelaunch/clean/stale_file.h"
#include "safelaunch/doctor/facts.h"

namespace safelaunch::doctor {

/// A finding, and what safelaunch itself can do about it: `safelaunch doctor --fix` removes these
/// files and ends these processes, and nothing else. All are proven ours.
struct Advice {
  Finding finding;
  std::vector<clean::StaleFile> files;
  std::vector<clean::StaleProcess> processes;

  [[nodiscard]] bool can_be_fixed() const { return !files.empty() || !processes.empty(); }
};

/// What the facts mean for the coming run, the gravest first. Decides in values: no file is read
/// and no clock asked. The checks stand in launcher/doctor/check_*.cc, one file a theme.
[[nodiscard]] std::vector<Advice> examine(const HostFacts& facts);

/// What is worth a word before each run: blocking findings and risks, without notes and without the
/// mistakes in the command, which a run tells in any case. Costs milliseconds, opens no connection
/// and asks no name server.
[[nodiscard]] std::vector<Finding> preflight_findings(Subject subject);

/// Whether a finding forbids the run.
[[nodiscard]] bool blocks(const Finding& finding);

/// One line for each file and process that `--fix` has dealt with.
using FixReport = std::vector<std::string>;

/// Removes the files and ends the processes of the advices. Each is looked at again just before,
/// and has its line, whether that went well or not. Blocks while processes end.
[[nodiscard]] FixReport fix(std::span<const Advice> advices);

}  // namespace safelaunch::doctor
