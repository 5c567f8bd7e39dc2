#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/report/run_record.h"

namespace safelaunch::report {

/// What a reader wants to see of an attempt's files, and in which order.

/// A stack that several ranks had in common.
struct SharedStack {
  std::vector<Rank> ranks;  ///< in rising order
  std::string_view text;    ///< of the first of them, in the record
  bool suspect = false;     ///< it is a missing rank's, or that of the first that failed
};

/// Equal stacks put together, suspects first.
[[nodiscard]] std::vector<SharedStack> shared_stacks(const AttemptHistory& attempt);

/// The logs of the suspects, then the launcher's, then the others'.
[[nodiscard]] std::vector<const RecordedFile*> logs_by_interest(const AttemptHistory& attempt);

/// The last lines of a text, without the final line end.
[[nodiscard]] std::string_view last_lines(std::string_view text, std::size_t count);

/// "the last 64 kB of 10.0 MB", or "2.3 kB" where nothing was left out.
[[nodiscard]] std::string extent_in_words(const RecordedFile& file);

}  // namespace safelaunch::report
