#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/process_id.h"

namespace safelaunch::report {

/// What is to be seen of one run from its run directory.
struct RunStatus {
  std::string run;
  ProcessId process;  ///< of its safelaunch
  std::string boot_id;
  std::string started;
  std::vector<std::string> command;
  int attempt = 0;
  std::string profile;
  std::map<int, std::string> stages;  ///< rank → the last stage that it reached
  std::string waiting;                ///< the last status line, where somebody waits
  bool training = false;
  bool ended = false;  ///< it has an outcome
};

/// Reads job.json and events.jsonl of a run directory; nullopt where there is no run to be read.
[[nodiscard]] std::optional<RunStatus> read_status(const std::filesystem::path& directory);

/// One run for a reader: a line, and one for each stage that ranks are in.
[[nodiscard]] std::string render(const RunStatus& status);

/// The runs as JSON.
[[nodiscard]] std::string status_json(const std::vector<RunStatus>& runs);

}  // namespace safelaunch::report
