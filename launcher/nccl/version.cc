#include "safelaunch/nccl/version.h"

#include <array>
#include <charconv>

#include "safelaunch/base/format.h"

namespace safelaunch::nccl {

std::optional<Version> parse_nccl_version(std::string_view text) {
  constexpr int kMost = 100'000;
  std::array<int, 3> numbers{};
  std::size_t count = 0;
  while (count < numbers.size()) {
    const auto [stop, error] =
        std::from_chars(text.data(), text.data() + text.size(), numbers[count]);
    if (error != std::errc() || numbers[count] < 0 || numbers[count] > kMost) return std::nullopt;
    ++count;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
  }
  if (count < 2) return std::nullopt;
  return Version{numbers[0], numbers[1], numbers[2]};
}

std::string to_string(const Version& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

bool starts_before_bootstrap(const Version& version) {
  return version >= Version{2, 23, 0};
}

}  // namespace safelaunch::nccl
