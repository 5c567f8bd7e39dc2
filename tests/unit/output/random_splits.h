#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <string_view>
#include <vector>

namespace safelaunch::testing {

/// Cuts a text into pieces of 1 to `longest` bytes, the same ones for the same seed: a stream does
/// not say where its writer's words end.
inline std::vector<std::string_view> split_randomly(std::string_view text, unsigned seed,
                                                    std::size_t longest) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<std::size_t> size(1, longest);
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    pieces.push_back(text.substr(0, size(random)));
    text.remove_prefix(pieces.back().size());
  }
  return pieces;
}

}  // namespace safelaunch::testing
