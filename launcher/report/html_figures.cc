#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "html_page.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"

// Charts stand below the timeline, on the same axis of time. A chart is a picture without words,
// which may be stretched; its words stand beside it.
namespace safelaunch::report {
namespace {

constexpr std::size_t kMostPoints = 240;
constexpr std::size_t kMostColours = 8;
constexpr std::size_t kMostSuspects = 3;

template <class Point>
void thin_out(std::vector<Point>& points) {
  const std::size_t step = points.size() / kMostPoints + 1;
  if (step == 1) return;
  std::vector<Point> kept;
  for (std::size_t i = 0; i < points.size(); i += step) kept.push_back(points[i]);
  if ((points.size() - 1) % step != 0) kept.push_back(points.back());
  points = std::move(kept);
}

std::vector<ChartBand> band_of(const std::vector<ChartLine>& lines) {
  std::map<Duration, std::vector<double>> values;
  for (const ChartLine& line : lines)
    for (const ChartPoint& point : line.points) values[point.at].push_back(point.value);
  std::vector<ChartBand> band;
  for (auto& [at, all] : values) {
    std::ranges::sort(all);
    band.push_back({at, all.front(), all[all.size() / 2], all.back()});
  }
  return band;
}

void keep_the_telling(std::vector<ChartLine>& lines, const std::string& most_of) {
  std::size_t suspects = 0;
  std::erase_if(lines, [&](const ChartLine& line) {
    if (line.suspect && suspects < kMostSuspects) return ++suspects, false;
    return line.name != most_of;
  });
  std::size_t colour = 0;
  for (ChartLine& line : lines) line.colour = line.suspect ? ++colour : 0;
}

constexpr double kWide = 1'000;  // the units of a picture
constexpr double kHigh = 100;

using Words = std::string (*)(double value);

std::string percent_in_words(double value) {
  return fmt::format("{:.0f} %", value);
}

std::string mib_in_words(double value) {
  return rough_size(static_cast<std::uint64_t>(std::max(0.0, value)) << 20U);
}

std::string rate_in_words(double value) {
  return fmt::format("{:.{}f} /s", value, value < 10 ? 1 : 0);
}

struct Picture {
  const char* title;
  Chart chart;
  Words words;
  double least_top;  // a small figure must not fill the picture
};

struct Scale {
  const AttemptHistory& attempt;
  double top = 1;

  [[nodiscard]] std::string point(Duration at, double value) const {
    const double x = share_of(at - attempt.began, attempt.until - attempt.began);
    return fmt::format("{:.1f},{:.1f}", kWide * std::clamp(x, 0.0, 1.0),
                       kHigh * (1 - std::clamp(value / top, 0.0, 1.0)));
  }
};

void write_band(const std::vector<ChartBand>& band, const Scale& scale, HtmlWriter& to) {
  if (band.empty()) return;
  to.markup("<polygon class=\"band\" points=\"");
  for (const ChartBand& one : band) to.text(scale.point(one.at, one.most)).markup(" ");
  for (auto one = band.rbegin(); one != band.rend(); ++one)
    to.text(scale.point(one->at, one->least)).markup(" ");
  to.markup("\"/><polyline class=\"middle\" points=\"");
  for (const ChartBand& one : band) to.text(scale.point(one.at, one.middle)).markup(" ");
  to.markup("\"/>");
}

std::string colour_of(const ChartLine& line) {
  return fmt::format("c{}", line.colour);
}

void write_picture(const Chart& chart, const Scale& scale, HtmlWriter& to) {
  to.markup("<svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
  write_band(chart.band, scale, to);
  for (const ChartLine& line : chart.lines) {
    to.markup("<polyline class=\"").text(colour_of(line)).markup("\" points=\"");
    for (const ChartPoint& point : line.points)
      to.text(scale.point(point.at, point.value)).markup(" ");
    to.markup("\"/>");
  }
  to.markup("</svg>");
}

void write_names(const Chart& chart, HtmlWriter& to) {
  to.markup("<p class=\"legend\">");
  if (!chart.band.empty()) {
    write_sign("band", tr("all, from least to most"), to);
    write_sign("middle", tr("the middle one"), to);
    write_sign("c0", tr("the one with the most"), to);
  }
  for (const ChartLine& line : chart.lines)
    if (chart.band.empty() || line.suspect) write_sign(colour_of(line), line.name, to);
  to.markup("</p>\n");
}

void write_chart(const Picture& picture, const AttemptHistory& attempt, HtmlWriter& to) {
  const auto& [title, chart, words, least_top] = picture;
  if (chart.lines.empty()) return;
  const auto rounding = words == &mib_in_words ? Rounding::binary : Rounding::decimal;
  const Scale scale{attempt, std::max(least_top, rounded_up(chart.most, rounding))};
  to.markup("<div class=\"r chart\"><span class=\"who\">").text(tr(title)).markup("<small>");
  to.text(tr("0 to {}", words(scale.top))).markup("</small></span>");
  to.markup("<span class=\"plot\">");
  write_picture(chart, scale, to);
  to.markup("</span><span class=\"note\">");
  to.text(tr("most {}, {}", words(chart.most), chart.most_of)).markup("</span></div>\n");
}

bool is_suspect(const std::vector<Rank>& suspected, int rank) {
  return std::ranges::find(suspected, Rank{rank}) != suspected.end();
}

// A line for each rank of the looks; `value` is given a look and the index of the rank in it.
template <class Figures, class Numbers, class Value>
std::vector<ChartLine> lines_of(const std::vector<Looked<Figures>>& looks, const char* kind,
                                const std::vector<Rank>& suspected, Numbers numbers, Value value) {
  std::map<int, ChartLine> lines;
  for (const Looked<Figures>& look : looks)
    for (std::size_t i = 0; i < numbers(look.figures).size(); ++i) {
      const std::optional<double> told = value(look.figures, i);
      const int number = numbers(look.figures)[i];
      ChartLine& line = lines[number];
      if (told) line.points.push_back({look.at, *told});
    }
  std::vector<ChartLine> result;
  for (auto& [number, line] : lines) {
    line.name = fmt::format("{} {}", kind, number);
    line.suspect = is_suspect(suspected, number);
    result.push_back(std::move(line));
  }
  return result;
}

// How many collectives a second each rank finished between two answers.
std::vector<ChartLine> rates_of(const AttemptHistory& attempt) {
  const auto ranks = [](const record::Usage& usage) -> const auto& {
    return usage.ranks;
  };
  std::vector<ChartLine> lines =
      lines_of(attempt.usage, "rank", suspects(attempt), ranks,
               [](const record::Usage& usage, std::size_t i) -> std::optional<double> {
                 if (usage.collectives.empty() || usage.collectives[i] < 0) return std::nullopt;
                 return usage.collectives[i];
               });
  for (ChartLine& line : lines) {
    std::vector<ChartPoint> rates;
    for (std::size_t i = 1; i < line.points.size(); ++i) {
      const std::chrono::duration<double> seconds = line.points[i].at - line.points[i - 1].at;
      const double more = line.points[i].value - line.points[i - 1].value;
      if (seconds.count() > 0)
        rates.push_back({line.points[i].at, std::max(0.0, more / seconds.count())});
    }
    line.points = std::move(rates);
  }
  return lines;
}

std::vector<Picture> pictures_of_ranks(const AttemptHistory& attempt) {
  const std::vector<Rank> suspected = suspects(attempt);
  const auto ranks = [](const record::Usage& usage) -> const auto& {
    return usage.ranks;
  };
  const auto chart = [&](auto list) {
    return make_chart(lines_of(
        attempt.usage, "rank", suspected, ranks, [&](const record::Usage& usage, std::size_t i) {
          const bool is_there = usage.memory[i] > 0;  // not yet reaped
          return is_there ? std::optional<double>((usage.*list)[i]) : std::nullopt;
        }));
  };
  std::vector<Picture> pictures;
  pictures.push_back({"memory", chart(&record::Usage::memory), mib_in_words, 64});
  Chart children = chart(&record::Usage::children);
  if (children.most > 0)
    pictures.push_back({"memory of its children", std::move(children), mib_in_words, 64});
  pictures.push_back({"CPU", chart(&record::Usage::cpu), percent_in_words, 100});
  pictures.push_back({"collectives", make_chart(rates_of(attempt)), rate_in_words, 1});
  return pictures;
}

std::vector<Picture> pictures_of_gpus(const AttemptHistory& attempt) {
  const auto gpus = [](const record::Gpus& one) -> const auto& {
    return one.gpu;
  };
  const auto chart = [&](auto list) {
    return make_chart(
        lines_of(attempt.gpus, "GPU", {}, gpus, [&](const record::Gpus& one, std::size_t i) {
          const int value = (one.*list)[i];
          return value < 0 ? std::nullopt : std::optional<double>(value);
        }));
  };
  double size = 0;
  for (const auto& look : attempt.gpus)
    for (const int mib : look.figures.size) size = std::max<double>(size, mib);
  std::vector<Picture> pictures;
  pictures.push_back({"memory of the GPUs", chart(&record::Gpus::used), mib_in_words, size});
  pictures.push_back({"work of the GPUs", chart(&record::Gpus::busy), percent_in_words, 100});
  return pictures;
}

void write_group(const std::vector<Picture>& pictures, const AttemptHistory& attempt,
                 HtmlWriter& to) {
  const auto drawn =
      std::ranges::find_if(pictures, [](const Picture& one) { return !one.chart.lines.empty(); });
  if (drawn == pictures.end()) return;
  to.markup("<div class=\"tl\">");
  write_axis(attempt.until - attempt.began, to);
  for (const Picture& one : pictures) write_chart(one, attempt, to);
  to.markup("</div>\n");
  write_names(drawn->chart, to);
}

}  // namespace

double rounded_up(double value, Rounding rounding) {
  const double base = rounding == Rounding::binary ? 2 : 10;
  double unit = 1;  // multiplied here, since std::log and std::pow ask for glibc 2.29
  while (std::isfinite(value) && unit * base <= value) unit *= base;
  for (const double times : {1.0, 1.25, 1.5, 2.0, 2.5, 5.0, 10.0})
    if (unit * times >= value) return unit * times;
  return value;
}

// A picture is as wide as a few hundred dots, so of more points every second, third, … is kept; and
// an eye tells eight colours apart.
Chart make_chart(std::vector<ChartLine> lines) {
  std::erase_if(lines, [](const ChartLine& line) { return line.points.size() < 2; });
  Chart chart;
  for (const ChartLine& line : lines)
    for (const ChartPoint& point : line.points)
      if (chart.most_of.empty() || point.value > chart.most) {
        chart.most = point.value;
        chart.most_of = line.name;
      }
  if (lines.size() > kMostColours) {
    chart.band = band_of(lines);
    keep_the_telling(lines, chart.most_of);
  } else {
    for (std::size_t i = 0; i < lines.size(); ++i) lines[i].colour = i;
  }
  for (ChartLine& line : lines) thin_out(line.points);
  thin_out(chart.band);
  chart.lines = std::move(lines);
  return chart;
}

void write_figures(const AttemptHistory& attempt, HtmlWriter& to) {
  HtmlWriter inner;
  write_group(pictures_of_ranks(attempt), attempt, inner);
  write_group(pictures_of_gpus(attempt), attempt, inner);
  if (const auto rate = collectives_a_second(attempt))
    inner.note(tr("After the start: {} collectives a second, in all groups together",
                  fmt::format("{:.{}f}", *rate, *rate < 10 ? 1 : 0)));
  if (inner.size() != 0)
    to.markup("<h3>").text(tr("What the ranks used")).markup("</h3>\n").append(inner);
}

}  // namespace safelaunch::report
