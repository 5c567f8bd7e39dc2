#pragma once

#include <cstddef>

#include "names.h"
#include "places.h"

namespace safelaunch::redact {

/// A name in a text, and its kind.
struct NamePlace {
  std::string_view text;  ///< all of it
  std::size_t begin = 0;
  std::size_t end = 0;
  NameKind kind = NameKind::plain;

  [[nodiscard]] std::string_view name() const { return text.substr(begin, end - begin); }
  [[nodiscard]] char at(std::size_t i) const { return i < text.size() ? text[i] : '\n'; }
};

/// Adds the value that belongs to the name: `NAME=value`, `"name": "value"`, `--name value`, a
/// block or a bracket of values, "name is value". Returns the end of the text that it has read.
std::size_t find_value_of(const NamePlace& name, SecretPlaces& places);

/// Adds all values within the brackets that open at `open`, except those of names like `user`.
/// Returns the end of the text that it has read.
std::size_t find_in_brackets(std::string_view text, std::size_t open, NameKind kind,
                             SecretPlaces& places);

/// Whether the values of names like `user` are left beside a secret.
enum class UserNames { spared, taken };

/// Adds the values of the indented lines below the line that holds `at`. Returns where they end.
std::size_t find_in_indented(std::string_view text, std::size_t at, NameKind kind, UserNames beside,
                             SecretPlaces& places);

}  // namespace safelaunch::redact
