#include "json_fields.h"

#include <algorithm>
#include <limits>

namespace safelaunch::report {
namespace {

// How deep brackets are nested at most.
std::size_t depth(std::string_view text) {
  std::size_t deepest = 0;
  std::size_t now = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++i;
    if (in_string) continue;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++now);
    if ((c == ']' || c == '}') && now > 0) --now;
  }
  return deepest;
}

const Json* field(const Json& json, const char* key) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(key);
  return found == json.end() ? nullptr : &*found;
}

std::optional<int> number(const Json& json) {
  if (!json.is_number_integer()) return std::nullopt;
  const auto value = json.get<std::int64_t>();
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
    return std::nullopt;
  return static_cast<int>(value);
}

}  // namespace

Json parse_json(std::string_view text) {
  constexpr std::size_t kDeepest = 64;  // ours go four deep; whoever walks through it recurses
  if (depth(text) > kDeepest) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

std::string text_of(const Json& json, const char* key) {
  const Json* found = field(json, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

std::vector<std::string> texts_of(const Json& json, const char* key) {
  std::vector<std::string> result;
  const Json* found = field(json, key);
  if (found == nullptr || !found->is_array()) return result;
  for (const Json& word : *found)
    if (word.is_string()) result.push_back(word.get<std::string>());
  return result;
}

std::vector<int> numbers_of(const Json& json, const char* key) {
  std::vector<int> result;
  const Json* found = field(json, key);
  if (found == nullptr || !found->is_array()) return result;
  for (const Json& word : *found)
    if (const auto value = number(word)) result.push_back(*value);
  return result;
}

std::optional<int> number_of(const Json& json, const char* key) {
  const Json* found = field(json, key);
  return found == nullptr ? std::nullopt : number(*found);
}

std::optional<std::int64_t> large_number_of(const Json& json, const char* key) {
  const Json* found = field(json, key);
  if (found == nullptr || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

Duration duration_of(const Json& json, const char* key) {
  constexpr double kTenYears = 10 * 365 * 86'400.0;
  const Json* found = field(json, key);
  const double seconds = found != nullptr && found->is_number() ? found->get<double>() : 0;
  // Written so that what is no number at all becomes 0.
  const double sane = seconds > 0 ? std::min(seconds, kTenYears) : 0;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(sane));
}

}  // namespace safelaunch::report
