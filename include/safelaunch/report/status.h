#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/process.h"

namespace safelaunch::report {

/// The state of one run, as its run directory shows it.
struct RunStatus {
  std::string run;
  ProcessId process;  ///< the safelaunch that runs it
  std::string boot_id;
  std::string started;
  std::vector<std::string> command;
  int attempt = 0;
  std::string profile;
  std::map<int, std::string> stages;  ///< the last stage that each rank reached
  std::string waiting;                ///< the last text of the status line
  bool training = false;
  bool ended = false;  ///< the record has its end
};

/// Reads job.json and events.jsonl of a run directory; nullopt without a readable job.json.
[[nodiscard]] std::optional<RunStatus> read_status(const std::filesystem::path& directory);

/// One run for a reader: a line about the run, and one for each stage that ranks are in.
[[nodiscard]] std::string render(const RunStatus& status);

/// The runs as JSON.
[[nodiscard]] std::string status_json(const std::vector<RunStatus>& runs);

}  // namespace safelaunch::report
