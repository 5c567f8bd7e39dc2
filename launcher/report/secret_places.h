#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace safelaunch {

/// Where a secret stands in a text: [begin, end).
struct SecretPlace {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// All secrets that a text shows by their surroundings, in no order; they may overlap.
[[nodiscard]] std::vector<SecretPlace> secret_places(std::string_view text);

}  // namespace safelaunch
