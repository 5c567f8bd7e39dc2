#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"
#include "safelaunch/profile/yaml_file.h"

namespace safelaunch::profile {

/// A word of a file and what it stands for.
template <class T>
struct Choice {
  std::string_view word;
  T value;
};

/// Reads the keys of one YAML map into variables. A key that is absent leaves its variable alone,
/// so that a variable begins with its default or with what is inherited. The first mistake is kept
/// and everything after it is skipped: read all keys, then ask error() once.
class YamlReader {
 public:
  /// `what` names the map in errors ("a profile"). A key that is not in `keys` is a mistake.
  YamlReader(const YamlNode& map, std::string_view what, std::span<const std::string_view> keys);

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  void read(std::string_view key, std::string& text);
  void read(std::string_view key, bool& flag);
  void read(std::string_view key, Duration& duration);
  void read(std::string_view key, std::vector<std::string>& words);  ///< a list, or one word

  template <class T>
  void read(std::string_view key, T& value, std::span<const Choice<T>> choices);

  /// Hands the value of a key, if it is there, to a function that returns what is wrong with it.
  void read_with(std::string_view key,
                 const std::function<std::optional<Error>(const YamlNode&)>& read);

  /// Keeps a mistake that the caller found, unless there is one already.
  void fail(const Place& place, std::string_view message);

 private:
  /// The scalar of a key; nullptr where it is absent, or no scalar, or a mistake came before.
  const YamlNode* scalar(std::string_view key);
  const YamlNode* value(std::string_view key);

  const YamlNode& map_;
  std::optional<Error> error_;
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
