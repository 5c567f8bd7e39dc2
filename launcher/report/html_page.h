#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "safelaunch/base/embedded.h"
#include "safelaunch/report/run_record.h"
#include "timeline.h"

namespace safelaunch::report {

/// Builds HTML. Markup is taken from literals of ours only; whatever comes from anywhere else goes
/// through text(), which escapes it, so that no word of a job can become markup.
class HtmlWriter {
 public:
  template <std::size_t Size>
  HtmlWriter& markup(const char (&literal)[Size]) {
    html_.append(literal, Size - 1);
    return *this;
  }

  /// Fit for the content of elements and for quoted attributes.
  HtmlWriter& text(std::string_view text);

  /// The same, at most that many bytes of it, with a "…" where something is cut off.
  HtmlWriter& text(std::string_view text, std::size_t most);

  /// A length or a place in percent of the whole.
  HtmlWriter& percent(double share);

  [[nodiscard]] std::size_t size() const { return html_.size(); }
  [[nodiscard]] std::string take() { return std::move(html_); }

 private:
  std::string html_;
};

/// The text without what is behind `most` bytes; never within a UTF-8 sequence.
[[nodiscard]] std::string_view cut(std::string_view text, std::size_t most);

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

/// The page around a report: report.html, whose {{title}} and {{body}} are to be filled in.
[[nodiscard]] std::span<const EmbeddedFile> report_template();

}  // namespace safelaunch::report
