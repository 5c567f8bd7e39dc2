#include <array>
#include <chrono>

#include "html_page.h"
#include "safelaunch/base/rank_list.h"

namespace safelaunch::report {
namespace {

using std::chrono_literals::operator""ms;

// Writes the CSS class of a stage, which report.html defines.
void write_stage_class(Stage stage, HtmlWriter& to) {
  switch (stage) {
    case Stage::spawned: to.markup("s0"); break;
    case Stage::imported: to.markup("s1"); break;
    case Stage::rendezvous: to.markup("s2"); break;
    case Stage::group: to.markup("s3"); break;
    case Stage::communicator: to.markup("s4"); break;
    case Stage::collective: to.markup("s5"); break;
  }
}

void write_class(const TimelineSpan& span, HtmlWriter& to) {
  switch (span.kind) {
    case TimelineSpan::Kind::starting: to.markup("s0"); break;
    case TimelineSpan::Kind::reached: write_stage_class(span.stage, to); break;
    case TimelineSpan::Kind::waiting: to.markup("w"); break;
    case TimelineSpan::Kind::missing: to.markup("m"); break;
    case TimelineSpan::Kind::stopped: to.markup("x"); break;
  }
}

void write_title(const TimelineSpan& span, HtmlWriter& to) {
  to.text(span.kind == TimelineSpan::Kind::reached ? name(span.stage) : name(span.kind));
  to.markup(", ").text(describe_duration(span.from));
  to.markup("–").text(describe_duration(span.to));
}

void write_row(const TimelineRow& row, const Timeline& timeline, HtmlWriter& to) {
  row.suspect ? to.markup("<div class=\"r bad\">") : to.markup("<div class=\"r\">");
  to.markup("<span class=\"who\">").text(rank_list(row.ranks));
  to.markup("</span><span class=\"bar\">");
  for (const TimelineSpan& span : row.spans) {
    to.markup("<i class=\"");
    write_class(span, to);
    to.markup("\" style=\"width:").percent(share_of(span.to - span.from, timeline.length));
    to.markup("\" title=\"");
    write_title(span, to);
    to.markup("\"></i>");
  }
  to.markup("</span><span class=\"note\">").text(row.note).markup("</span></div>\n");
}

void write_verdict_mark(const Timeline& timeline, HtmlWriter& to) {
  if (!timeline.verdict) return;
  to.markup(
      "<div class=\"r mark\"><span class=\"who\"></span><span class=\"bar\"><b style=\"left:");
  to.percent(share_of(*timeline.verdict, timeline.length)).markup("\" title=\"verdict after ");
  to.text(describe_duration(*timeline.verdict));
  to.markup("\"></b></span><span class=\"note\"></span></div>\n");
}

void write_legend(const Timeline& timeline, HtmlWriter& to) {
  std::array<bool, kStageCount> stages{};
  bool waiting = false;
  bool missing = false;
  for (const TimelineRow& row : timeline.rows)
    for (const TimelineSpan& span : row.spans) {
      if (span.kind == TimelineSpan::Kind::reached)
        stages.at(static_cast<std::size_t>(span.stage)) = true;
      waiting |= span.kind == TimelineSpan::Kind::waiting;
      missing |= span.kind == TimelineSpan::Kind::missing;
    }
  to.markup("<p class=\"legend\"><span><i class=\"s0\"></i>starting</span>");
  for (int i = 1; i < kStageCount; ++i) {
    if (!stages.at(static_cast<std::size_t>(i))) continue;
    to.markup("<span><i class=\"");
    write_stage_class(static_cast<Stage>(i), to);
    to.markup("\"></i>").text(name(static_cast<Stage>(i))).markup(" reached</span>");
  }
  if (waiting) to.markup("<span><i class=\"w\"></i>waiting for others</span>");
  if (missing) to.markup("<span><i class=\"m\"></i>missing</span>");
  to.markup("</p>\n");
}

void write_times(const Timeline& timeline, HtmlWriter& to) {
  to.markup("<details><summary>When each stage was reached</summary><div class=\"wide\"><table>");
  to.markup("<tr><th>rank</th>");
  for (int i = 1; i < kStageCount; ++i)
    to.markup("<th>").text(name(static_cast<Stage>(i))).markup("</th>");
  to.markup("<th></th></tr>\n");
  for (const TimelineRow& row : timeline.rows) {
    to.markup("<tr><td>").text(rank_list(row.ranks)).markup("</td>");
    for (std::size_t i = 1; i < row.reached.size(); ++i)
      to.markup("<td>")
          .text(row.reached[i] ? describe_duration(*row.reached[i]) : "–")
          .markup("</td>");
    to.markup("<td>").text(row.note).markup("</td></tr>\n");
  }
  to.markup("</table></div></details>\n");
}

// The step of the axis: a round number that gives two to five marks.
Duration step_of(Duration length) {
  constexpr std::array<int, 3> kRound{1, 2, 5};
  for (Duration unit = 100ms;; unit *= 10)
    for (const int times : kRound)
      if (unit * times * 5 >= length) return unit * times;
}

}  // namespace

double share_of(Duration part, Duration whole) {
  return static_cast<double>(part.count()) / static_cast<double>(std::max(whole, 1ms).count());
}

void write_axis(Duration length, HtmlWriter& to) {
  to.markup("<div class=\"r axis\"><span class=\"who\"></span><span class=\"bar\">");
  const Duration step = step_of(length);
  for (Duration at{}; at <= length; at += step) {
    if (share_of(at, length) > 0.93) break;  // its label would reach beyond the picture
    to.markup("<b style=\"left:").percent(share_of(at, length)).markup("\">");
    to.text(at == Duration{} ? "0" : describe_duration(at)).markup("</b>");
  }
  to.markup("</span><span class=\"note\"></span></div>\n");
}

void write_timeline(const Timeline& timeline, HtmlWriter& to) {
  constexpr std::size_t kMany = 20;
  if (timeline.rows.empty()) return;
  to.markup("<h3>How far the ranks came</h3>\n");
  timeline.rows.size() > kMany ? to.markup("<div class=\"tl many\">")
                               : to.markup("<div class=\"tl\">");
  write_axis(timeline.length, to);
  for (const TimelineRow& row : timeline.rows) write_row(row, timeline, to);
  write_verdict_mark(timeline, to);
  to.markup("</div>\n");
  if (timeline.ranks_left_out != 0)
    to.markup("<p class=\"dim\">and ")
        .text(std::to_string(timeline.ranks_left_out))
        .markup(" ranks more</p>\n");
  write_legend(timeline, to);
  write_times(timeline, to);
}

}  // namespace safelaunch::report
