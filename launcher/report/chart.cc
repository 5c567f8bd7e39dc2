#include "chart.h"

#include <algorithm>
#include <cmath>
#include <map>

// A picture is as wide as a few hundred dots, so of more points every second, third, … is kept; and
// an eye tells eight colours apart.
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

}  // namespace

double rounded_up(double value, Rounding rounding) {
  const double base = rounding == Rounding::binary ? 2 : 10;
  const double unit = std::pow(base, std::floor(std::log(std::max(value, 1.0)) / std::log(base)));
  for (const double times : {1.0, 1.25, 1.5, 2.0, 2.5, 5.0, 10.0})
    if (unit * times >= value) return unit * times;
  return value;
}

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

}  // namespace safelaunch::report
