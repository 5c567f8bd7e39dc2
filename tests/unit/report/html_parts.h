#pragma once

#include "catch.h"
#include "launcher/report/html_page.h"
#include "launcher/report/timeline.h"
#include "recorded_runs.h"
#include "safelaunch/report/report.h"

namespace safelaunch::report {

/// What a part of the page writes.
template <class Write>
std::string built(Write write) {
  HtmlWriter to;
  write(to);
  return to.take();
}

inline std::string timeline_html(const Timeline& timeline) {
  return built([&](HtmlWriter& to) { write_timeline(timeline, to); });
}

inline std::size_t times_in(const std::string& html, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = html.find(part); at != std::string::npos; at = html.find(part, at + 1))
    ++count;
  return count;
}

}  // namespace safelaunch::report
