#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"

namespace safelaunch::report {

/// One file of a run directory, or as much of it as was wanted.
struct RecordedFile {
  std::string name;  ///< below the run directory: "attempt-1-basic/rank-0.err"
  std::string text;
  std::uintmax_t size = 0;  ///< of the file
  std::uintmax_t left_out =
      0;  ///< bytes that are not in `text`: a log's beginning, a record's middle
};

/// The texts of a run directory.
struct RunFiles {
  std::filesystem::path directory;
  std::vector<RecordedFile> files;  ///< sorted by name
  std::size_t passed_over = 0;      ///< logs that there was no room for

  /// The text of one file; empty where there is none.
  [[nodiscard]] std::string_view text(std::string_view name) const;
};

/// How much of a run directory is read, in bytes. What is there may be huge.
struct ReadLimits {
  std::size_t record = 16U << 20;  ///< of events.jsonl
  std::size_t log = 64U << 10;     ///< of each log, its end
  std::size_t logs = 4U << 20;     ///< of all logs together; each then gets its share
};

/// Reads the files that safelaunch itself writes (docs/run-directory.md); others are not looked at,
/// since --run-dir may be any folder of the user's. Links, pipes and devices are passed over, so
/// nothing can be read through them and nothing blocks.
[[nodiscard]] RunFiles read_run_files(const std::filesystem::path& directory,
                                      const ReadLimits& limits = {});

/// The same with all secrets taken out (base/redact.h) and all text made plain (plain_text.h): what
/// may leave the machine. Secrets are those that any of the files gives away and the values of the
/// environment's secret variables. JSON stays JSON.
[[nodiscard]] RunFiles cleaned(RunFiles files, const Environment& environment);

}  // namespace safelaunch::report
