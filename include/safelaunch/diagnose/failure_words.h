#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/base/exit_status.h"
#include "safelaunch/diagnose/catalogue.h"

namespace safelaunch::diagnose {

/// A Python traceback that was found in the merged output of a job.
struct Traceback {
  std::optional<Rank> rank;  ///< from torch's "[rank3]:", or mp.spawn's "Process 3 terminated"
  std::string type;          ///< of the exception that nobody caught: "ZeroDivisionError"
  std::string message;       ///< may have several lines
  std::string text;          ///< all of it, exceptions that it arose from included, without tags
  std::size_t line = 0;      ///< where it begins (LogLine::number)
};

/// The tracebacks of the ranks, in order. Those in which a launcher (torchrun, mp.spawn, deepspeed,
/// accelerate) says that a rank failed, and those of an interrupt, are left out.
[[nodiscard]] std::vector<Traceback> tracebacks(std::string_view text);

/// What a launcher told of the rank that failed first.
struct ReportedExit {
  std::optional<Rank> rank;
  ExitStatus status;
};

/// From torchrun's failure block, deepspeed's or accelerate's last words, or mp.spawn's exception:
/// torchrun and mp.spawn exit with 1 whatever the rank's own status was.
[[nodiscard]] std::optional<ReportedExit> reported_exit(std::string_view text);

/// What to show a user last: the traceback of the rank that failed first (`rank` where that is
/// known from elsewhere), rather than those of its victims; without a traceback, the last lines
/// that are not the launcher's own. Ends with a line end unless empty.
[[nodiscard]] std::string failure_words(std::string_view text, const Catalogue& catalogue,
                                        std::optional<Rank> rank = std::nullopt);

}  // namespace safelaunch::diagnose
