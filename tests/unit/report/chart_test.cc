#include "launcher/report/html_page.h"

#include <algorithm>
#include <limits>

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::report;
using namespace std::chrono_literals;

namespace {

ChartLine line_of(int rank, double value, int points = 2) {
  ChartLine line{.name = "rank " + std::to_string(rank), .points = {}};
  for (int i = 0; i < points; ++i) line.points.push_back({i * 1s, value});
  return line;
}

std::vector<ChartLine> thousand() {
  std::vector<ChartLine> lines;
  for (int rank = 0; rank < 1'000; ++rank) lines.push_back(line_of(rank, rank));
  lines[3].suspect = true;
  return lines;
}

}  // namespace

TEST_CASE("few ranks have a line each, in a colour of its own", "[chart]") {
  const Chart chart = make_chart({line_of(0, 5), line_of(1, 7)});
  REQUIRE(chart.lines.size() == 2);
  CHECK(chart.lines[0].colour != chart.lines[1].colour);
  CHECK(chart.band.empty());
  CHECK(chart.most == 7);
  CHECK(chart.most_of == "rank 1");
}

TEST_CASE("of a thousand ranks there is a band, the one with the most, and the suspect",
          "[chart]") {
  const Chart chart = make_chart(thousand());
  REQUIRE(chart.lines.size() == 2);
  CHECK(chart.lines[0].name == "rank 3");
  CHECK(chart.lines[0].colour == 1);
  CHECK(chart.lines[1].name == "rank 999");
  CHECK(chart.lines[1].colour == 0);
  REQUIRE(chart.band.size() == 2);
  CHECK(chart.band[0].least == 0);
  CHECK(chart.band[0].middle == 500);
  CHECK(chart.band[0].most == 999);
}

TEST_CASE("a picture has a few hundred points, and the last one among them", "[chart]") {
  const Chart chart = make_chart({line_of(0, 5, 100'000)});
  CHECK(chart.lines[0].points.size() < 300);
  CHECK(chart.lines[0].points.back().at == 99'999s);
}

TEST_CASE("one look alone makes no picture", "[chart]") {
  CHECK(make_chart({line_of(0, 5, 1)}).lines.empty());
  CHECK(make_chart({}).lines.empty());
}

TEST_CASE("a scale ends at a round number", "[chart]") {
  CHECK(rounded_up(109, Rounding::decimal) == 125);
  CHECK(rounded_up(100, Rounding::decimal) == 100);
  CHECK(rounded_up(1'100, Rounding::binary) == 1'280);
  CHECK(rounded_up(1'000, Rounding::decimal) == 1'000);
  CHECK(rounded_up(0, Rounding::binary) == 1);
  CHECK(rounded_up(std::numeric_limits<double>::infinity(), Rounding::binary) ==
        std::numeric_limits<double>::infinity());
}
