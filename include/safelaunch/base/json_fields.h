#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "safelaunch/base/strings.h"
#include "safelaunch/base/time.h"

/// Reads JSON that may be torn or hostile: a field that is missing, or is of another type, reads as
/// empty. `Json` is nlohmann's json or ordered_json. The caller includes
/// <nlohmann/json.hpp>, because that header is dear and few sources need it.
namespace safelaunch {

inline constexpr std::size_t kNoLimit = std::string_view::npos;

/// The greatest depth of nested brackets in a text of JSON.
[[nodiscard]] std::size_t json_depth(std::string_view text);

/// Reads a document of any origin: parse_json<Json>(text). It is discarded, which is no value of
/// any type, where it is no JSON, or is nested too deep.
template <class Json>
[[nodiscard]] Json parse_json(std::string_view text) {
  constexpr std::size_t kDeepest = 64;  // our own go four deep; walking through a document recurses
  if (json_depth(text) > kDeepest) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

/// The field; nullptr where there is none, or where `object` is no object.
template <class Json>
[[nodiscard]] const Json* field_of(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

/// A list; nullptr where the field is none.
template <class Json>
[[nodiscard]] const Json* array_if(const Json& object, const char* key) {
  const Json* field = field_of(object, key);
  return field != nullptr && field->is_array() ? field : nullptr;
}

/// A list to walk through, empty where the field is none.
template <class Json>
[[nodiscard]] const Json& array_of(const Json& object, const char* key) {
  static const Json kEmpty = Json::array();
  const Json* field = array_if(object, key);
  return field != nullptr ? *field : kEmpty;
}

/// An object to walk through, empty where the field is none.
template <class Json>
[[nodiscard]] const Json& object_of(const Json& object, const char* key) {
  static const Json kEmpty = Json::object();
  const Json* field = field_of(object, key);
  return field != nullptr && field->is_object() ? *field : kEmpty;
}

/// A text; nullopt where the field is none.
template <class Json>
[[nodiscard]] std::optional<std::string> text_if(const Json& object, const char* key) {
  const Json* field = field_of(object, key);
  if (field == nullptr || !field->is_string()) return std::nullopt;
  return field->template get<std::string>();
}

/// A text of at most `longest` bytes, with no half character at its end.
template <class Json>
[[nodiscard]] std::string text_of(const Json& object, const char* key,
                                  std::size_t longest = kNoLimit) {
  const Json* field = field_of(object, key);
  if (field == nullptr || !field->is_string()) return {};
  return std::string(cut(field->template get_ref<const std::string&>(), longest));
}

/// A list of nothing but texts; nullopt where the field is none.
template <class Json>
[[nodiscard]] std::optional<std::vector<std::string>> texts_if(const Json& object,
                                                               const char* key) {
  const Json* list = array_if(object, key);
  const auto is_text = [](const Json& one) { return one.is_string(); };
  if (list == nullptr || !std::all_of(list->begin(), list->end(), is_text)) return std::nullopt;
  return list->template get<std::vector<std::string>>();
}

/// The first `most` texts of a list. Other entries are skipped.
template <class Json>
[[nodiscard]] std::vector<std::string> texts_of(const Json& object, const char* key,
                                                std::size_t most = kNoLimit,
                                                std::size_t longest = kNoLimit) {
  std::vector<std::string> texts;
  for (const Json& one : array_of(object, key))
    if (one.is_string() && texts.size() < most)
      texts.emplace_back(cut(one.template get_ref<const std::string&>(), longest));
  return texts;
}

/// The value itself as a whole number; nullopt where it is none, or does not fit into `Number`.
template <class Number = int, class Json>
[[nodiscard]] std::optional<Number> as_number(const Json& value) {
  const auto fitting = [](auto number) {
    return std::in_range<Number>(number) ? std::optional(static_cast<Number>(number))
                                         : std::nullopt;
  };
  // get<int64> would wrap an unsigned number beyond its range.
  if (value.is_number_unsigned()) return fitting(value.template get<std::uint64_t>());
  if (value.is_number_integer()) return fitting(value.template get<std::int64_t>());
  return std::nullopt;
}

/// A whole number that fits into `Number`.
template <class Number = int, class Json>
[[nodiscard]] std::optional<Number> number_of(const Json& object, const char* key) {
  const Json* field = field_of(object, key);
  return field == nullptr ? std::nullopt : as_number<Number>(*field);
}

/// A whole number from `low` to `high`, both included.
template <class Json>
[[nodiscard]] std::optional<int> number_of(const Json& object, const char* key, int low, int high) {
  const auto number = number_of(object, key);
  return number && *number >= low && *number <= high ? number : std::nullopt;
}

/// The whole numbers of a list. Other entries are skipped.
template <class Json>
[[nodiscard]] std::vector<int> numbers_of(const Json& object, const char* key) {
  std::vector<int> numbers;
  for (const Json& one : array_of(object, key))
    if (const auto number = as_number(one)) numbers.push_back(*number);
  return numbers;
}

/// A number that may have a fraction; nullopt where it is negative or not finite.
template <class Json>
[[nodiscard]] std::optional<double> amount_of(const Json& object, const char* key) {
  const Json* field = field_of(object, key);
  if (field == nullptr || !field->is_number()) return std::nullopt;
  const auto amount = field->template get<double>();
  return std::isfinite(amount) && amount >= 0 ? std::optional(amount) : std::nullopt;
}

/// A time that is told as a number of seconds; never negative and never more than ten years.
template <class Json>
[[nodiscard]] Duration duration_of(const Json& object, const char* key) {
  constexpr double kTenYears = 10 * 365 * 86'400.0;
  const double seconds = std::min(amount_of(object, key).value_or(0), kTenYears);
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

template <class Json>
[[nodiscard]] bool is_true(const Json& object, const char* key) {
  const Json* field = field_of(object, key);
  return field != nullptr && field->is_boolean() && field->template get<bool>();
}

/// Not the opposite of is_true(): a field that is missing is neither.
template <class Json>
[[nodiscard]] bool is_false(const Json& object, const char* key) {
  const Json* field = field_of(object, key);
  return field != nullptr && field->is_boolean() && !field->template get<bool>();
}

}  // namespace safelaunch
