#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"

namespace safelaunch::report {

/// One file of a run directory, or a part of it.
struct RecordedFile {
  std::string name;  ///< below the run directory: "attempt-1-basic/rank-0.err"
  std::string text;
  std::uintmax_t size = 0;      ///< bytes of the whole file
  std::uintmax_t left_out = 0;  ///< bytes that `text` lacks: a log's beginning, a record's middle
};

/// The texts of a run directory.
struct RunFiles {
  std::filesystem::path directory;
  std::vector<RecordedFile> files;  ///< sorted by name
  std::size_t passed_over = 0;      ///< logs that were not read, for want of room

  /// The text of one file; empty if there is no such file.
  [[nodiscard]] std::string_view text(std::string_view name) const;
};

/// How many bytes of a run directory are read at most; its files may be huge.
struct ReadLimits {
  std::size_t record = 16U << 20;  ///< bytes of events.jsonl
  std::size_t log = 64U << 10;     ///< bytes of each log, from its end
  std::size_t logs = 4U << 20;     ///< bytes of all logs together; each gets an equal share
};

/// Reads the files that safelaunch itself writes (docs/run-directory.md), and no others, since
/// --run-dir may be any folder of the user's. Links, pipes and devices are passed over: a link
/// could lead out of the folder, and a pipe would block.
[[nodiscard]] RunFiles read_run_files(const std::filesystem::path& directory,
                                      const ReadLimits& limits = {});

/// The files without secrets (redact/redactor.h) and with plain text only, so that they
/// may leave the machine. Secrets are those that any of the files gives away, and the values of
/// secret variables of the environment. JSON stays JSON.
[[nodiscard]] RunFiles cleaned(RunFiles files, const Environment& environment);

/// The output of a job as text that any screen can show. Escape sequences are removed (colours,
/// titles, clipboard writes). Of a line that was drawn over, such as a progress bar, the last state
/// stays. Control characters, broken UTF-8, and characters that turn the reading direction become
/// U+FFFD. Takes linear time whatever the bytes are.
[[nodiscard]] std::string plain_text(std::string_view bytes);

/// The same in one line: what begins a new one becomes a blank, so that no word of a job can look
/// like a line of ours.
[[nodiscard]] std::string plain_line(std::string_view bytes);

}  // namespace safelaunch::report
