#pragma once

#include <cstddef>
#include <map>

#include "safelaunch/base/event.h"
#include "safelaunch/base/process.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/evidence.h"

namespace safelaunch::diagnose {

/// "train.py:12 in load  (rank 5)": where the missing ranks stand, those that are told one by one.
[[nodiscard]] std::vector<std::string> places_of(const std::vector<MissingRank>& missing);

/// The first line of a Python traceback.
inline constexpr std::string_view kTracebackBegins = "Traceback (most recent call last):";

/// A Python traceback from the merged output of a job.
struct Traceback {
  std::optional<Rank> rank;  ///< read from torch's "[rank3]:" or mp.spawn's "Process 3 terminated"
  std::string type;          ///< the type of the uncaught exception: "ZeroDivisionError"
  std::string message;       ///< its message, of one line or several
  std::string text;          ///< the whole traceback with its chained exceptions, without rank tags
  std::size_t line = 0;      ///< the number of its first line (LogLine::number)
};

/// The text with "[rank1]: " in the place of each "(Worker_TP1 pid=4711) ", as vLLM and Ray name
/// their processes, where that process is a rank.
[[nodiscard]] std::string with_rank_tags(std::string_view text, const std::map<int, Rank>& ranks);

/// The tracebacks of the ranks, in order of their lines. Left out are a launcher's own (torchrun,
/// mp.spawn, deepspeed, accelerate), which only say that a rank failed, and those of an interrupt.
[[nodiscard]] std::vector<Traceback> tracebacks(std::string_view text);

/// Reads torchrun's failure block, the last words of deepspeed or accelerate, or mp.spawn's
/// exception, whoever has printed them: they hint at a cause.
[[nodiscard]] std::optional<ReportedExit> reported_exit(std::string_view text);

/// The words that a user should see last: the traceback of the rank that failed first (`rank`, if
/// that is known already), not those of its victims; without any traceback, the last lines that are
/// not the launcher's own. The text ends with a line end unless it is empty.
[[nodiscard]] std::string failure_words(std::string_view text, const Catalogue& catalogue,
                                        std::optional<Rank> rank = std::nullopt);

}  // namespace safelaunch::diagnose
