#include "safelaunch/job/process_count.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/nearest.h"
#include "text.h"

namespace safelaunch::job {
namespace {

constexpr std::array<std::string_view, 4> kWords = {"gpu", "xpu", "cpu", "auto"};

}  // namespace

Result<ProcessCount> parse_process_count(std::string_view text) {
  if (const auto number = to_int(text); number && *number > 0) return ProcessCount{*number};
  if (const auto it = std::ranges::find(kWords, text); it != kWords.end())
    return ProcessCount{static_cast<CountWord>(it - kWords.begin())};
  return Error{Errc::usage,
               fmt::format("'{}' is no number of processes: write a number above 0, gpu, xpu, cpu "
                           "or auto{}",
                           text, did_you_mean(text, kWords))};
}

std::string to_string(const ProcessCount& count) {
  if (const int* number = std::get_if<int>(&count)) return fmt::format("{}", *number);
  return std::string(kWords[static_cast<std::size_t>(std::get<CountWord>(count))]);
}

}  // namespace safelaunch::job
