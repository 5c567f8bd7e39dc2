#pragma once

#include <cstddef>
#include <map>

#include "safelaunch/report/run_files.h"
#include "safelaunch/report/run_record.h"

namespace safelaunch::report {

/// One stack, with all ranks that had it.
struct SharedStack {
  std::vector<Rank> ranks;  ///< the ranks in rising order
  std::string_view text;    ///< the stack of the first of these ranks; points into the record
  bool suspect = false;     ///< one of the ranks was missing or failed first
};

/// The stacks of an attempt, equal ones once, with those of suspects first.
[[nodiscard]] std::vector<SharedStack> shared_stacks(const AttemptHistory& attempt);

/// The logs of an attempt: those of suspects, then the launcher's, then all others.
[[nodiscard]] std::vector<const RecordedFile*> logs_by_interest(const AttemptHistory& attempt);

/// The last lines of a text, without the final line end.
[[nodiscard]] std::string_view last_lines(std::string_view text, std::size_t count);

/// "the last 64 kB of 10.0 MB", or "2.3 kB" if nothing was left out.
[[nodiscard]] std::string extent_in_words(const RecordedFile& file);

/// "training stood still after 15s: rank 1 is behind …"; empty where it did not, or the verdict
/// tells it.
[[nodiscard]] std::string standstill_in_words(const AttemptHistory& attempt);

// The lines of source at which ranks stood, beside their stacks.

/// The name of the file that add_sources() adds: a place and its line of source, a tab between, on
/// each line.
inline constexpr const char* kSources = "sources";

using SourceLines = std::map<std::string, std::string, std::less<>>;

/// Reads it: "/home/ann/train.py:50" -> "    time.sleep(3600)".
[[nodiscard]] SourceLines read_sources(std::string_view text);

/// "  /home/ann/train.py:50 sleep" -> "/home/ann/train.py:50"; empty for a line that is no frame.
[[nodiscard]] std::string_view place_of_frame(std::string_view line);

/// Adds the lines of source that the stacks name, as far as the Python files are there, can be read
/// by us and are older than the stack: a file that was edited since has other lines there.
void add_sources(RunFiles& files);

}  // namespace safelaunch::report
