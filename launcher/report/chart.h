#pragma once

#include <functional>
#include <string>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/report/run_record.h"

namespace safelaunch::report {

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

}  // namespace safelaunch::report
