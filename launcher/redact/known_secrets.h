#pragma once

#include <bitset>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "places.h"

namespace safelaunch::redact {

/// Values that are secret wherever they stand, as they are or within base64. The memory is bounded
/// and forgets nothing: of a value for which there is no room it keeps a trace, and a line that
/// bears such a trace is taken out whole.
class KnownSecrets {
 public:
  /// Shorter values are not remembered, since they would take half of every log with them.
  static constexpr std::size_t kShortest = 6;

  void add(std::string_view value);
  [[nodiscard]] bool empty() const { return by_start_.empty(); }
  /// Adds all places at which a known value stands. Linear time.
  void find(std::string_view text, SecretPlaces& places) const;

 private:
  using Values = std::set<std::string, std::less<>>;

  void add_text(std::string_view text);
  void add_piece(std::string_view piece);
  void add_trace(std::string_view piece);
  [[nodiscard]] bool has_trace(std::string_view text) const;
  [[nodiscard]] std::size_t length_at(std::string_view text, std::size_t at) const;

  std::bitset<1 << 16> starts_;  // hashes of first bytes: they rule out most of a text at once
  std::unordered_map<std::uint64_t, Values> by_start_;
  std::size_t bytes_ = 0;
  std::vector<bool> traces_;  // empty until there is no room
};

}  // namespace safelaunch::redact
