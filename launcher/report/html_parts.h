#pragma once

#include "html_writer.h"
#include "safelaunch/report/run_record.h"
#include "timeline.h"

/// The parts of the page, one file each.
namespace safelaunch::report {

/// Longer texts of a run are cut on the page, in bytes.
constexpr std::size_t kLongestText = 4'000;

/// What all attempts together may add to the page, in bytes; each takes from it.
struct PageBudget {
  std::size_t logs = 1U << 20;
  std::size_t stacks = 512U << 10;
};

/// The bars of all ranks, an axis, a legend, and the times as a table.
void write_timeline(const Timeline& timeline, HtmlWriter& to);

/// One attempt: its story, timeline, stacks, environment and logs.
void write_attempt(const AttemptHistory& attempt, RunRecord::State state, PageBudget& budget,
                   HtmlWriter& to);

}  // namespace safelaunch::report
