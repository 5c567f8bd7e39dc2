#include "safelaunch/base/time.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "safelaunch/base/format.h"

/// A duration is a sum of parts with falling units, so that what format_duration() writes is read
/// back. Two forms are written: one that is exact, for files, and a rounded one for people.
namespace safelaunch {
namespace {

struct Unit {
  std::string_view name;
  double milliseconds;
};
constexpr std::array kUnits{Unit{"ms", 1},      Unit{"s", 1e3},  Unit{"sec", 1e3},
                            Unit{"min", 60e3},  Unit{"m", 60e3}, Unit{"h", 3600e3},
                            Unit{"d", 86400e3}, Unit{"", 1e3}};

// A week is longer than any deadline that means something, and far from overflow.
constexpr double kLongest = 7 * 86400e3;

Error bad_duration(std::string_view text) {
  return Error{Errc::usage, "'" + std::string(text) +
                                "' is not a duration: write a number and ms, s, min, h or d, such "
                                "as 90s or 30min (0 or off: none)"};
}

/// "1.5min": a number and its unit.
struct Part {
  double number;
  Unit unit;
};

std::optional<Part> take_part(std::string_view& text) {
  double number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc{} || number < 0 || !std::isfinite(number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  const std::string_view word = text.substr(0, text.find_first_of("0123456789"));
  text.remove_prefix(word.size());
  const auto* unit = std::ranges::find(kUnits, word, &Unit::name);
  return unit == kUnits.end() ? std::nullopt : std::optional(Part{number, *unit});
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  if (text == "off") return Duration::zero();
  std::string_view rest = text;
  double sum = 0;
  double unit_before = kLongest;
  do {
    const auto part = take_part(rest);
    if (!part || part->unit.milliseconds >= unit_before) return bad_duration(text);
    if (part->unit.name.empty() && unit_before != kLongest) return bad_duration(text);
    unit_before = part->unit.milliseconds;
    sum += part->number * unit_before;
    if (sum > kLongest) return bad_duration(text);
  } while (!rest.empty());
  return Duration(std::llround(sum));
}

std::string format_duration(Duration duration) {
  const auto total = duration.count();
  if (total == 0) return "0s";
  if (total < 1000) return std::to_string(total) + "ms";
  if (total % 1000 != 0) {
    std::string text = std::to_string(static_cast<double>(total) / 1e3);
    while (text.back() == '0') text.pop_back();
    return text + "s";
  }
  const auto seconds = total / 1000;
  if (seconds % 60 != 0 || seconds < 600) return std::to_string(seconds) + "s";
  const auto hours = seconds / 3600;
  const auto minutes = seconds % 3600 / 60;
  std::string text;
  if (hours != 0) text += std::to_string(hours) + "h";
  if (minutes != 0) text += std::to_string(minutes) + "min";
  return text;
}

std::string describe_duration(Duration duration) {
  constexpr Duration kTenth{100};
  constexpr Duration kSecond{1'000};
  constexpr Duration kMinute{60'000};
  const Duration unit = duration < 10 * kSecond   ? kTenth
                        : duration < 10 * kMinute ? kSecond
                                                  : kMinute;
  const Duration rounded = (duration + unit / 2) / unit * unit;
  if (rounded == Duration::zero() || rounded >= kSecond) return format_duration(rounded);
  return "0." + std::to_string(rounded / kTenth) + "s";
}

std::string rough_age(Duration age) {
  using namespace std::chrono;
  if (age >= hours(48)) return fmt::format("{} days", age / hours(24));
  if (age >= hours(1)) return fmt::format("{}h", age / hours(1));
  if (age >= minutes(1)) return fmt::format("{}min", age / minutes(1));
  return fmt::format("{}s", age / seconds(1));
}

std::string local_time(const std::string& iso) {
  tm parts{};
  const char* rest = ::strptime(iso.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return iso;
  const time_t at = ::timegm(&parts);
  ::localtime_r(&at, &parts);
  std::array<char, 80> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S %Z (UTC%z)", &parts);
  std::string told = text.data();
  constexpr std::size_t kMinutes = 3;  // of "00)"
  if (parts.tm_gmtoff == 0) return told.substr(0, told.find(" ("));
  return told.insert(told.size() - kMinutes, ":");
}

std::string wall_time_now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  gmtime_r(&now.tv_sec, &parts);
  std::array<char, 40> text{};
  const std::size_t used = strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string milliseconds = std::to_string(1000 + now.tv_nsec / 1'000'000).substr(1);
  return std::string(text.data(), used) + "." + milliseconds + "Z";
}

}  // namespace safelaunch
