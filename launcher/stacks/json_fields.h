#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <string>

/// Fields of JSON that somebody else wrote: one that is missing or mistyped counts as empty.
namespace safelaunch::stacks {

using Json = nlohmann::ordered_json;

[[nodiscard]] inline std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

template <std::integral Number>
[[nodiscard]] Number number_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_integer() ? found->get<Number>() : Number{};
}

}  // namespace safelaunch::stacks
