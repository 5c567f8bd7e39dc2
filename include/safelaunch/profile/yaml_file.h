#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"

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

/// One value of a YAML file. A plain tree: every scalar is text as written, and the reader says
/// what it means (so `1`, `"1"` and `yes` never turn into something else by themselves).
struct YamlNode {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  Place place;
  std::string text;             ///< the text of a scalar
  std::vector<YamlNode> items;  ///< the items of a list
  /// The entries of a map, in the order of the file; no key occurs twice.
  std::vector<YamlEntry> entries;

  /// The value of a key of this map, or nullptr.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;

  bool operator==(const YamlNode&) const;
};

struct YamlEntry {
  std::string key;
  Place place;  ///< the place of the key
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

/// Reads one YAML document; an empty one is a null node. Refused, with the place: text that is too
/// big or too deep, anchors, aliases, merge keys and tags (they make bombs and run code elsewhere),
/// a key that occurs twice or is no plain word, a second document, control characters, text that is
/// not UTF-8. `file` is the name that errors show.
[[nodiscard]] Result<YamlNode> parse_yaml(std::string_view text, const std::string& file,
                                          const YamlLimits& limits = {});

/// A value of a file that was read when safelaunch was built. A file is a list of them, in which
/// each stands before those that it holds.
struct EmbeddedNode {
  std::string_view key;  ///< the key of an entry of a map; else empty
  int key_line = 0;
  int key_column = 0;
  YamlNode::Kind kind = YamlNode::Kind::null;
  int line = 0;
  int column = 0;
  std::string_view text;     ///< the text of a scalar
  std::size_t children = 0;  ///< how many values a list or map holds
};

/// The tree that parse_yaml() has made of the file; `file` is its name in errors.
[[nodiscard]] YamlNode tree_of(std::span<const EmbeddedNode> nodes, const std::string& file);

/// A word of a file and what it stands for.
template <class T>
struct Choice {
  std::string_view word;
  T value;
};

/// What is wrong at one place of a file.
struct Mistake {
  Place place;
  std::string message;
};

/// The mistakes of a file, told together so that one edit mends them. A function that reads a part
/// of a file returns those that it found: none, one, or several.
class Mistakes {
 public:
  Mistakes() = default;
  Mistakes(Mistake one) { add(std::move(one)); }  // not explicit: `return Mistake{…};`

  void add(Mistake one) { all_.push_back(std::move(one)); }
  void add(Mistakes others);

  [[nodiscard]] bool empty() const { return all_.empty(); }
  /// In the order of the reading.
  [[nodiscard]] const std::vector<Mistake>& all() const { return all_; }

 private:
  std::vector<Mistake> all_;
};

/// The mistakes of a whole file as people mend them, from its top: the first eight, a line each,
/// and how many more there are. There must be one.
[[nodiscard]] Error error_of(const Mistakes& mistakes);

/// Reads the keys of one YAML map into variables. A key that is absent leaves its variable alone,
/// so that a variable begins with its default or with what is inherited. Mistakes are gathered:
/// read all keys, then ask for them once.
class YamlReader {
 public:
  /// `what` names the map in errors ("a profile"). A key that is not in `keys` is a mistake.
  YamlReader(const YamlNode& map, std::string_view what, std::span<const std::string_view> keys);

  [[nodiscard]] const Mistakes& mistakes() const { return mistakes_; }
  /// Whether no mistake was found yet, so that keys which depend on each other can be judged.
  [[nodiscard]] bool well_so_far() const { return mistakes_.empty(); }

  void read(std::string_view key, std::string& text);
  void read(std::string_view key, bool& flag);
  void read(std::string_view key, Duration& duration);
  void read(std::string_view key, std::vector<std::string>& words);  ///< a list, or one word

  template <class T>
  void read(std::string_view key, T& value, std::span<const Choice<T>> choices);

  /// Hands the value of a key, if it is there, to a function that returns what is wrong with it.
  void read_with(std::string_view key, const std::function<Mistakes(const YamlNode&)>& read);

  /// Keeps a mistake that the caller found.
  void fail(const Place& place, std::string message) { mistakes_.add({place, std::move(message)}); }

 private:
  /// The scalar of a key; nullptr where it is absent, or no scalar.
  const YamlNode* scalar(std::string_view key);

  const YamlNode& map_;
  Mistakes mistakes_;
};

/// "'lagre' is not one of none, small, medium, large; did you mean 'large'?"
[[nodiscard]] std::string not_a_choice(std::string_view word,
                                       std::span<const std::string_view> choices);

template <class T>
void YamlReader::read(std::string_view key, T& value, std::span<const Choice<T>> choices) {
  const YamlNode* node = scalar(key);
  if (node == nullptr) return;
  std::vector<std::string_view> words;
  for (const Choice<T>& choice : choices) {
    if (choice.word == node->text) {
      value = choice.value;
      return;
    }
    words.push_back(choice.word);
  }
  fail(node->place, not_a_choice(node->text, words));
}

}  // namespace safelaunch::profile
