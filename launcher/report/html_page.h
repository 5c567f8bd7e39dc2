#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>

#include "safelaunch/base/event.h"
#include "safelaunch/base/installed_files.h"
#include "safelaunch/report/run_record.h"
#include "timeline.h"

namespace safelaunch::report {

/// One collective of one rank, as it answered.
struct CalledCollective {
  std::string operation;  ///< "all_reduce"
  std::string state;      ///< "enqueued", "started", "finished"
  bool operator==(const CalledCollective&) const = default;
};

/// The place of a collective: collectives that meet have the same place on all ranks.
struct CollectivePlace {
  std::string group;
  long number = 0;
  auto operator<=>(const CollectivePlace&) const = default;
};

/// The last collectives of the ranks, with ranks that answered alike in one row.
struct CalledMatrix {
  struct Row {
    std::vector<Rank> ranks;
    std::map<CollectivePlace, CalledCollective> called;
    std::vector<std::string> waits;  ///< "waits in TCPStore__wait"
  };
  std::vector<CollectivePlace> places;
  std::vector<Row> rows;
};

/// Reads the answers, "rank 0: all_reduce, collective 1 of group 0: finished; …". Lines that
/// are not a rank's answer are skipped.
[[nodiscard]] CalledMatrix read_called(const std::vector<std::string>& answers);

/// One figure of one rank, or of one GPU, at one moment.
struct ChartPoint {
  Duration at{};
  double value = 0;
};

/// The figures of one rank, or of one GPU, in the order of time.
struct ChartLine {
  std::string name;
  std::vector<ChartPoint> points;
  bool suspect = false;
  std::size_t colour = 0;  ///< the number of its colour
};

/// The figures of many at one moment.
struct ChartBand {
  Duration at{};
  double least = 0;
  double middle = 0;
  double most = 0;
};

/// A picture of figures over time. Of more than eight lines it has the band in which they all are,
/// its middle, the line of the one that had most (colour 0) and those of suspects (1 to 3).
struct Chart {
  std::vector<ChartLine> lines;
  std::vector<ChartBand> band;  ///< empty: the lines are all that there is
  std::string most_of;          ///< the name of the line that reached `most`
  double most = 0;
};

/// The end of a scale: a round number that is no less than the value. Memory has round numbers of
/// its own, 1.5 GiB for one.
enum class Rounding { decimal, binary };
[[nodiscard]] double rounded_up(double value, Rounding rounding);

/// Puts a chart together. It is empty where no line has two points.
[[nodiscard]] Chart make_chart(std::vector<ChartLine> lines);

/// Builds HTML. Markup comes from literals in our sources only; all else goes through text(), which
/// escapes it, so that no word of a job can become markup.
class HtmlWriter {
 public:
  template <std::size_t Size>
  HtmlWriter& markup(const char (&literal)[Size]) {
    html_.append(literal, Size - 1);
    return *this;
  }

  /// Adds escaped text, for the content of elements and for quoted attributes.
  HtmlWriter& text(std::string_view text);

  /// Adds at most `most` bytes of escaped text, and a "…" if something is cut off.
  HtmlWriter& text(std::string_view text, std::size_t most);

  /// Adds escaped text whose lines may break behind a slash: paths, stacks. For elements alone.
  HtmlWriter& path(std::string_view text);

  /// Adds a paragraph that stands back.
  HtmlWriter& note(std::string_view said) {
    return markup("<p class=\"dim\">").text(said).markup("</p>\n");
  }

  /// Adds a share of the whole in percent.
  HtmlWriter& percent(double share);

  /// Adds what another one has built.
  HtmlWriter& append(const HtmlWriter& other) {
    html_ += other.html_;
    return *this;
  }

  [[nodiscard]] std::size_t size() const { return html_.size(); }
  [[nodiscard]] std::string take() { return std::move(html_); }

 private:
  std::string html_;
};

/// The page cuts texts of a run that are longer, in bytes.
constexpr std::size_t kLongestText = 4'000;

/// How many bytes all attempts together may still add to the page; each attempt takes its part.
struct PageBudget {
  std::size_t logs = 1U << 20;
  std::size_t stacks = 512U << 10;
};

/// The part of a whole that a time is, from 0 to 1.
[[nodiscard]] double share_of(Duration part, Duration whole);

/// Writes a coloured sign and its words, for a legend.
void write_sign(std::string_view css, std::string_view words, HtmlWriter& to);

/// Writes the marks of the time below or above pictures of that length.
void write_axis(Duration length, HtmlWriter& to);

/// The attempt whose failure the head tells: the run ended with it, or it made the run need another
/// profile. Null: none has failed.
[[nodiscard]] const AttemptSummary* told_in_head(const RunRecord& run);
/// Writes what happened, and the cause with how sure it is.
void write_cause(const Failure& failure, HtmlWriter& to);
/// Writes the advice to a person.
void write_remedy(const Failure& failure, HtmlWriter& to);
/// Writes the head: the verdict, the command and how to run it again.
void write_head(const RunRecord& run, HtmlWriter& to);
/// Writes the ways between the nodes, node × node.
void write_ways(const RunRecord& run, HtmlWriter& to);
/// "Worked with no-shm": the end of the run in a word or two.
[[nodiscard]] std::string headline_text(const RunRecord& run);

/// Writes all attempts as one picture, and the bandwidths that probes have measured; nothing where
/// there was one attempt and no probe.
void write_overview(const RunRecord& run, HtmlWriter& to);

/// Writes the memory and CPU of the ranks over time, those of their GPUs, and how many collectives
/// they finished.
void write_figures(const AttemptHistory& attempt, HtmlWriter& to);

/// Writes which rank called which collective, where the ranks do not agree.
void write_collectives(const AttemptHistory& attempt, HtmlWriter& to);

/// Writes the timeline: a bar for each row, an axis, a legend, and the times as a table.
void write_timeline(const Timeline& timeline, HtmlWriter& to);

/// Writes one attempt: its end and cause, timeline, stacks, environment and logs.
void write_attempt(const AttemptHistory& attempt, const RunRecord& run, PageBudget& budget,
                   HtmlWriter& to);

/// The template of the page, report.html; html_report() fills in its {{title}} and {{body}}.
[[nodiscard]] std::span<const EmbeddedFile> report_template();

}  // namespace safelaunch::report
