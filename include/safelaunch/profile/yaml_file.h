#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/result.h"

namespace safelaunch::profile {

/// A place in a file; line and column count from 1, as editors do. A default Place
/// is nowhere: it did not come from a file.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;

  bool operator==(const Place&) const = default;
};

/// "profiles/basic.yaml:3:5", or the file alone where there is no line.
[[nodiscard]] std::string to_string(const Place& place);

/// An error of a file, in the form that compilers use and editors jump to: "FILE:LINE:COLUMN: …".
[[nodiscard]] Error error_at(const Place& place, std::string_view message);

struct YamlEntry;

/// One value of a YAML file. A plain tree: every scalar is text as written, and what it means is
/// for the reader to say (so `1`, `"1"` and `yes` never turn into something else by themselves).
struct YamlNode {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  Place place;
  std::string text;                ///< of a scalar
  std::vector<YamlNode> items;     ///< of a list
  std::vector<YamlEntry> entries;  ///< of a map, in the order of the file; no key occurs twice

  /// The value of a key of this map, or nullptr.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;

  bool operator==(const YamlNode&) const;
};

struct YamlEntry {
  std::string key;
  Place place;  ///< of the key
  YamlNode value;

  bool operator==(const YamlEntry&) const = default;
};

// Written out: clang 14 crashes at a default outside of its class.
inline bool YamlNode::operator==(const YamlNode& other) const {
  return kind == other.kind && place == other.place && text == other.text && items == other.items &&
         entries == other.entries;
}

/// The limits for one file. Reading stops at the first excess, so that a hostile file takes
/// milliseconds and little memory.
struct YamlLimits {
  std::size_t bytes = 64 * 1024;  ///< a byte takes yaml-cpp up to 0.4 µs: 25 ms in all
  std::size_t nodes = 10'000;
  std::size_t depth = 16;
};

/// Reads one YAML document; an empty one is a null node. Refused, with the place: what is too big
/// or too deep, anchors, aliases, merge keys and tags (they make bombs and run code elsewhere), a
/// key that occurs twice or is no plain word, a second document, control characters, text that is
/// not UTF-8. `file` is the name that errors show.
[[nodiscard]] Result<YamlNode> parse_yaml(std::string_view text, const std::string& file,
                                          const YamlLimits& limits = {});

/// A value of a file that was read when safelaunch was built. A file is a list of them, in which
/// each stands before those that it holds.
struct EmbeddedNode {
  std::string_view key;  ///< of an entry of a map; else empty
  int key_line = 0;
  int key_column = 0;
  YamlNode::Kind kind = YamlNode::Kind::null;
  int line = 0;
  int column = 0;
  std::string_view text;     ///< of a scalar
  std::size_t children = 0;  ///< how many values a list or map holds
};

/// The tree that parse_yaml() has made of the file; `file` is its name in errors.
[[nodiscard]] YamlNode tree_of(std::span<const EmbeddedNode> nodes, const std::string& file);

}  // namespace safelaunch::profile
