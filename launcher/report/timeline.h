#pragma once

#include <array>

#include "safelaunch/base/event.h"
#include "safelaunch/report/run_record.h"

namespace safelaunch::report {

/// A stretch of time in which a rank, or several that behaved alike, did one thing.
struct TimelineSpan {
  enum class Kind {
    starting,  ///< it has reached no stage yet
    reached,   ///< `stage` is the last stage that it has reached
    waiting,   ///< it waited for others when the verdict fell
    missing,   ///< the others waited for it when the verdict fell
    stopped,   ///< after the verdict, when safelaunch ends it
  };
  Kind kind = Kind::starting;
  Stage stage = Stage::spawned;
  Duration from{};  ///< the begin, counted from that of the attempt
  Duration to{};
  bool operator==(const TimelineSpan&) const = default;
};

/// One row of the timeline.
struct TimelineRow {
  std::vector<Rank> ranks;  ///< the ranks in rising order; several only if there were too many rows
  std::vector<TimelineSpan> spans;
  std::array<std::optional<Duration>, kStageCount> reached;
  std::string note;      ///< "missing", "waited", "failed first, exit status 1"
  bool suspect = false;  ///< its rank was missing, or failed first
};

/// The stages of all ranks in one attempt. Times are since the attempt began.
struct Timeline {
  Duration length{};
  std::optional<Duration> verdict;
  std::vector<TimelineRow> rows;  ///< the rows by rank; suspects first if ranks share rows
  std::size_t ranks_left_out = 0;
};

/// The timeline of an attempt. If there were more than `most_rows`, ranks that behaved alike share
/// a row; a stage of such a row begins when the last of its ranks has reached it.
[[nodiscard]] Timeline timeline_of(const AttemptHistory& attempt, std::size_t most_rows);

[[nodiscard]] const char* name(TimelineSpan::Kind kind);

}  // namespace safelaunch::report
