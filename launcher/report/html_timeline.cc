#include <algorithm>
#include <array>
#include <chrono>

#include "html_page.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/rank_list.h"

// Widths and places are shares of the whole time, in percent, so a browser draws them at any size.
// The bars of a row are set side by side: each begins where the one before ends, and a time outside
// of the attempt is moved to its edge.
namespace safelaunch::report {
namespace {

constexpr std::size_t kMostAttemptBars = 50;
constexpr double kMbInGb = 1e3;

struct Stretch {
  Duration from{};
  Duration to{};
  const char* css = "";
};

const char* css_of(std::size_t stage) {
  constexpr std::array<const char*, kStageCount> kClasses{"s0", "s1", "s2", "s3", "s4", "s5"};
  return kClasses.at(stage);
}

std::optional<Duration> reached_by_every_rank(const AttemptHistory& attempt, std::size_t stage) {
  std::optional<Duration> last;
  for (const auto& [rank, history] : attempt.ranks) {
    if (!history.reached.at(stage)) return std::nullopt;
    last = std::max(last.value_or(Duration{}), *history.reached.at(stage));
  }
  return last;
}

// When the first rank had come as far as any.
Duration first_to_wait(const AttemptHistory& attempt) {
  for (std::size_t stage = kStageCount; stage-- > 0;) {
    std::optional<Duration> first;
    for (const auto& [rank, history] : attempt.ranks)
      if (const auto& reached = history.reached.at(stage))
        first = std::min(first.value_or(*reached), *reached);
    if (first) return *first;
  }
  return attempt.began;
}

bool has_hung(const AttemptHistory& attempt) {
  return attempt.verdict && is_hang(attempt.verdict->failure.kind);
}

std::vector<Stretch> stretches_of(const AttemptHistory& attempt) {
  std::vector<std::pair<Duration, const char*>> begins{{attempt.began, css_of(0)}};
  for (std::size_t stage = 1; stage < kStageCount; ++stage)
    if (const auto reached = reached_by_every_rank(attempt, stage))
      begins.emplace_back(*reached, css_of(stage));
  std::ranges::stable_sort(begins, {}, &std::pair<Duration, const char*>::first);
  if (attempt.verdict) {
    if (has_hung(attempt))
      begins.emplace_back(std::max(begins.back().first, first_to_wait(attempt)), "m");
    begins.emplace_back(attempt.verdict->at, "x");
  }
  std::vector<Stretch> stretches;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const Duration end = i + 1 < begins.size() ? begins[i + 1].first : attempt.until;
    if (end > begins[i].first) stretches.push_back({begins[i].first, end, begins[i].second});
  }
  return stretches;
}

std::string end_of(const AttemptHistory& attempt) {
  return attempt.ended ? end_in_words(attempt.told) : tr("is running");
}

void write_row(const AttemptHistory& attempt, Duration length, HtmlWriter& to) {
  const bool failed = attempt.told.failure.has_value();
  failed ? to.markup("<div class=\"r bad\">") : to.markup("<div class=\"r\">");
  to.markup("<span class=\"who\"><a href=\"#attempt-").text(std::to_string(attempt.told.number));
  to.markup("\">").text(std::to_string(attempt.told.number) + " " + attempt.told.profile);
  to.markup("</a></span><span class=\"bar none\"><i style=\"width:");
  to.percent(share_of(attempt.began, length)).markup("\"></i>");
  for (const Stretch& one : stretches_of(attempt)) {
    to.markup("<i class=\"").text(one.css).markup("\" style=\"width:");
    to.percent(share_of(one.to - one.from, length)).markup("\"></i>");
  }
  to.markup("</span><span class=\"note\">").text(end_of(attempt)).markup("</span></div>\n");
}

void write_attempts(const RunRecord& run, HtmlWriter& to) {
  if (run.attempts.size() < 2) return;
  const std::size_t shown = std::min(kMostAttemptBars, run.attempts.size());
  to.markup("<h2>").text(tr("All attempts")).markup("</h2>\n<div class=\"tl named\">");
  write_axis(run.took, to);
  for (std::size_t i = 0; i < shown; ++i) write_row(run.attempts[i], run.took, to);
  to.markup("</div>\n<p class=\"legend\">");
  write_sign("s0", tr("starting"), to);
  for (std::size_t stage = 1; stage < kStageCount; ++stage) {
    const bool seen = std::ranges::any_of(run.attempts, [&](const AttemptHistory& attempt) {
      return !attempt.ranks.empty() && reached_by_every_rank(attempt, stage);
    });
    if (!seen) continue;
    write_sign(css_of(stage), tr("{} reached by every rank", name(static_cast<Stage>(stage))), to);
  }
  if (std::ranges::any_of(run.attempts, has_hung)) write_sign("m", tr("hung"), to);
  write_sign("x", tr("being stopped"), to);
  to.markup("</p>\n");
  if (shown < run.attempts.size()) to.note(tr("and {} attempts more", run.attempts.size() - shown));
}

// The last word of the probes on each profile, in the order in which they were probed first.
std::vector<record::Probe> probes_of(const RunRecord& run) {
  std::vector<record::Probe> probes;
  for (const AttemptHistory& attempt : run.attempts)
    for (const record::Probe& probe : attempt.probes) {
      const auto known = std::ranges::find(probes, probe.profile, &record::Probe::profile);
      known == probes.end() ? probes.push_back(probe) : void(*known = probe);
    }
  return probes;
}

std::string result_of(const record::Probe& probe) {
  if (probe.mb_per_s > 0) return fmt::format("{:.1f} GB/s", probe.mb_per_s / kMbInGb);
  return probe.verdict;
}

void write_probes(const RunRecord& run, HtmlWriter& to) {
  const std::vector<record::Probe> probes = probes_of(run);
  if (probes.empty()) return;
  const int most = std::ranges::max(probes, {}, &record::Probe::mb_per_s).mb_per_s;
  to.markup("<h2>").text(tr("What the probes measured")).markup("</h2>\n");
  to.note(tr("all_reduce among safelaunch's own processes; the bandwidth that each link reached"))
      .markup("<div class=\"tl named\">");
  for (const record::Probe& probe : probes) {
    const bool works = probe.verdict == "works";
    works ? to.markup("<div class=\"r\">") : to.markup("<div class=\"r bad\">");
    to.markup("<span class=\"who\">").text(probe.profile);
    to.markup("</span><span class=\"bar none\" title=\"").text(probe.text, kLongestText);
    to.markup("\"><i class=\"s5\" style=\"width:");
    to.percent(most > 0 ? static_cast<double>(probe.mb_per_s) / most : 0);
    to.markup("\"></i></span><span class=\"note\">").text(result_of(probe));
    to.markup("</span></div>\n");
  }
  to.markup("</div>\n");
}

using std::chrono_literals::operator""ms;

void write_class(const TimelineSpan& span, HtmlWriter& to) {
  switch (span.kind) {
    case TimelineSpan::Kind::starting: to.markup("s0"); break;
    case TimelineSpan::Kind::reached: to.text(css_of(static_cast<std::size_t>(span.stage))); break;
    case TimelineSpan::Kind::waiting: to.markup("w"); break;
    case TimelineSpan::Kind::missing: to.markup("m"); break;
    case TimelineSpan::Kind::stopped: to.markup("x"); break;
  }
}

void write_title(const TimelineSpan& span, HtmlWriter& to) {
  to.text(tr(span.kind == TimelineSpan::Kind::reached ? name(span.stage) : name(span.kind)));
  to.markup(", ").text(describe_duration(span.from));
  to.markup("–").text(describe_duration(span.to));
}

void write_row(const TimelineRow& row, const Timeline& timeline, HtmlWriter& to) {
  row.suspect ? to.markup("<div class=\"r bad\">") : to.markup("<div class=\"r\">");
  to.markup("<span class=\"who\">").text(tr(rank_list(row.ranks)));
  to.markup("</span><span class=\"bar\">");
  for (const TimelineSpan& span : row.spans) {
    to.markup("<i class=\"");
    write_class(span, to);
    to.markup("\" style=\"width:").percent(share_of(span.to - span.from, timeline.length));
    to.markup("\" title=\"");
    write_title(span, to);
    to.markup("\"></i>");
  }
  to.markup("</span><span class=\"note\">").text(tr(row.note)).markup("</span></div>\n");
}

void write_verdict_mark(const Timeline& timeline, HtmlWriter& to) {
  if (!timeline.verdict) return;
  to.markup(
      "<div class=\"r mark\"><span class=\"who\"></span><span class=\"bar\"><b style=\"left:");
  to.percent(share_of(*timeline.verdict, timeline.length)).markup("\" title=\"");
  to.text(tr("verdict after {}", describe_duration(*timeline.verdict)));
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
  to.markup("<p class=\"legend\">");
  write_sign("s0", tr("starting"), to);
  for (int i = 1; i < kStageCount; ++i) {
    if (!stages.at(static_cast<std::size_t>(i))) continue;
    write_sign(css_of(static_cast<std::size_t>(i)), tr("{} reached", name(static_cast<Stage>(i))),
               to);
  }
  if (waiting) write_sign("w", tr("waiting for others"), to);
  if (missing) write_sign("m", tr("missing"), to);
  if (timeline.verdict) write_sign("v", tr("verdict"), to);
  to.markup("</p>\n");
}

void write_times(const Timeline& timeline, HtmlWriter& to) {
  to.markup("<details><summary>")
      .text(tr("When each stage was reached"))
      .markup("</summary><div class=\"wide\"><table class=\"times\">");
  to.markup("<tr><th>rank</th>");
  std::vector<std::size_t> stages;  // those that a rank has reached
  for (std::size_t i = 1; i < kStageCount; ++i)
    if (std::ranges::any_of(timeline.rows, [i](const auto& row) { return bool(row.reached[i]); }))
      stages.push_back(i);
  for (const std::size_t i : stages)
    to.markup("<th>").text(name(static_cast<Stage>(i))).markup("</th>");
  to.markup("</tr>\n");
  for (const TimelineRow& row : timeline.rows) {
    to.markup("<tr><td>").text(tr(rank_list(row.ranks))).markup("</td>");
    for (const std::size_t i : stages)
      to.markup("<td>")
          .text(row.reached[i] ? describe_duration(*row.reached[i]) : "–")
          .markup("</td>");
    to.markup("</tr>\n");
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

// One bar an attempt, on the time of the whole run. A stage is coloured from where its last rank
// reached it.
void write_overview(const RunRecord& run, HtmlWriter& to) {
  HtmlWriter inner;
  write_attempts(run, inner);
  write_probes(run, inner);
  if (inner.size() == 0) return;
  to.markup("<section>").append(inner).markup("</section>\n");
}

void write_sign(std::string_view css, std::string_view words, HtmlWriter& to) {
  to.markup("<span><i class=\"").text(css).markup("\"></i>").text(words).markup("</span>");
}

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
  to.markup("<h3>").text(tr("How far the ranks came")).markup("</h3>\n");
  timeline.rows.size() > kMany ? to.markup("<div class=\"tl many\">")
                               : to.markup("<div class=\"tl\">");
  write_axis(timeline.length, to);
  for (const TimelineRow& row : timeline.rows) write_row(row, timeline, to);
  write_verdict_mark(timeline, to);
  to.markup("</div>\n");
  if (timeline.ranks_left_out != 0) to.note(tr("and {} ranks more", timeline.ranks_left_out));
  write_legend(timeline, to);
  write_times(timeline, to);
}

}  // namespace safelaunch::report
