#pragma once

#include <nlohmann/json_fwd.hpp>

#include "safelaunch/base/time.h"
#include "safelaunch/gpu/facts.h"
#include "safelaunch/launch/helper.h"

/// The JSON of GPU facts, which the reader writes and the client reads: the words of both stand in
/// one place. A field that is missing or of another type counts as not told.
namespace safelaunch::gpu {

[[nodiscard]] nlohmann::ordered_json json_of(const Gpu& gpu);
[[nodiscard]] Gpu gpu_of(const nlohmann::json& json);

/// Puts the lines of `safelaunch-probe gpus` together. One JSON object a line, as they come to be
/// known, so that a driver that hangs in the middle is named with the GPU that it hangs on:
///
///     {"driver": "580.95.05", "cuda": "13.0", "count": 8}
///     {"asking": 0}                        what follows may hang
///     {"gpu": {"index": 0, "uuid": …}}
///     {"error": "…", "code": 18}           NVML's own words and number
///     {"done": true}
class Lines {
 public:
  /// Takes one line. A line that is not ours, too long or one too many is counted and dropped.
  void take(std::string_view line);

  /// Gives the facts, once the process that told them has ended as `end` says.
  [[nodiscard]] Facts finish(const launch::HelperEnd& end, Duration deadline) &&;

 private:
  Facts facts_;
  int asked_ = -1;  ///< the GPU that was asked for last; -1: the driver itself
  bool done_ = false;
  int senseless_ = 0;
};

}  // namespace safelaunch::gpu
