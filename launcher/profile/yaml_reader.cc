#include "yaml_reader.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// A map is read key by key. The first mistake is kept and all later keys are skipped, so callers
// read everything and ask for the mistake once.
namespace safelaunch::profile {
namespace {

std::string_view kind_name(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::null: return "nothing";
    case YamlNode::Kind::scalar: return "one value";
    case YamlNode::Kind::list: return "a list";
    case YamlNode::Kind::map: return "a map";
  }
  return {};
}

}  // namespace

std::string not_a_choice(std::string_view word, std::span<const std::string_view> choices) {
  return fmt::format("'{}' is not one of {}{}", word, join(choices, ", "),
                     did_you_mean(word, choices));
}

YamlReader::YamlReader(const YamlNode& map, std::string_view what,
                       std::span<const std::string_view> keys)
    : map_(map) {
  if (map.kind != YamlNode::Kind::map)
    fail(map.place,
         fmt::format("{} must be a map of keys to values, not {}", what, kind_name(map.kind)));
  for (const YamlEntry& entry : map.entries) {
    if (std::find(keys.begin(), keys.end(), entry.key) != keys.end()) continue;
    const std::string hint = did_you_mean(entry.key, keys);
    fail(entry.place, fmt::format("{} has no key '{}'{}", what, entry.key,
                                  hint.empty() ? "; there are " + join(keys, ", ") : hint));
  }
}

void YamlReader::fail(const Place& place, std::string_view message) {
  if (!error_) error_ = error_at(place, message);
}

const YamlNode* YamlReader::value(std::string_view key) {
  return error_ ? nullptr : map_.find(key);
}

const YamlNode* YamlReader::scalar(std::string_view key) {
  const YamlNode* node = value(key);
  if (node == nullptr || node->kind == YamlNode::Kind::scalar) return node;
  fail(node->place, fmt::format("{} must be one value, not {}", key, kind_name(node->kind)));
  return nullptr;
}

void YamlReader::read(std::string_view key, std::string& text) {
  if (const YamlNode* node = scalar(key)) text = node->text;
}

void YamlReader::read(std::string_view key, bool& flag) {
  static constexpr std::array kFlags{Choice<bool>{"true", true}, Choice<bool>{"false", false}};
  read<bool>(key, flag, kFlags);
}

void YamlReader::read(std::string_view key, Duration& duration) {
  const YamlNode* node = scalar(key);
  if (node == nullptr) return;
  const Result<Duration> parsed = parse_duration(node->text);
  if (parsed.has_error())
    fail(node->place, fmt::format("{}: {}", key, parsed.error().message));
  else
    duration = *parsed;
}

void YamlReader::read(std::string_view key, std::vector<std::string>& words) {
  const YamlNode* node = value(key);
  if (node == nullptr) return;
  words.clear();
  if (node->kind == YamlNode::Kind::scalar) {
    words.push_back(node->text);
    return;
  }
  if (node->kind != YamlNode::Kind::list)
    return fail(node->place,
                fmt::format("{} must be a list of words, not {}", key, kind_name(node->kind)));
  for (const YamlNode& item : node->items) {
    if (item.kind != YamlNode::Kind::scalar)
      return fail(item.place,
                  fmt::format("{} must hold words only, not {}", key, kind_name(item.kind)));
    words.push_back(item.text);
  }
}

void YamlReader::read_with(std::string_view key,
                           const std::function<std::optional<Error>(const YamlNode&)>& read) {
  const YamlNode* node = value(key);
  if (node == nullptr) return;
  if (std::optional<Error> error = read(*node)) error_ = std::move(error);
}

}  // namespace safelaunch::profile
