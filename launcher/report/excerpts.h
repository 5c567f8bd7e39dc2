#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/report/run_record.h"

namespace safelaunch::report {

/// One stack, with all ranks that had it.
struct SharedStack {
  std::vector<Rank> ranks;  ///< in rising order
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

}  // namespace safelaunch::report
