#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/report/run_record.h"

namespace safelaunch::report {

/// What a rank, or several that behaved alike, did for a stretch of time.
struct TimelineSpan {
  enum class Kind {
    starting,  ///< nothing is known of it yet
    reached,   ///< `stage` is the last that it has reached
    waiting,   ///< it waited for others when the verdict fell
    missing,   ///< it was the one waited for
    stopped,   ///< behind the verdict: it is being ended
  };
  Kind kind = Kind::starting;
  Stage stage = Stage::spawned;
  Duration from{};  ///< since the attempt began
  Duration to{};
  bool operator==(const TimelineSpan&) const = default;
};

/// One row of the picture.
struct TimelineRow {
  std::vector<Rank> ranks;  ///< in rising order; several only where there were too many rows
  std::vector<TimelineSpan> spans;
  std::array<std::optional<Duration>, kStageCount> reached;
  std::string note;      ///< "missing", "waited", "failed first, exit status 1"
  bool suspect = false;  ///< it was missing, or the first that failed
};

/// The stages of all ranks in one attempt. Times are since the attempt began.
struct Timeline {
  Duration length{};
  std::optional<Duration> verdict;
  std::vector<TimelineRow> rows;  ///< suspects first if ranks were put together, else by rank
  std::size_t ranks_left_out = 0;
};

/// Ranks that behaved alike are one row where there would be more than `most_rows`; a stage of such
/// a row begins when the last of its ranks has reached it.
[[nodiscard]] Timeline timeline_of(const AttemptHistory& attempt, std::size_t most_rows);

[[nodiscard]] const char* name(TimelineSpan::Kind kind);

}  // namespace safelaunch::report
