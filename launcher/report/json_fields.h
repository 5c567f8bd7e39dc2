#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/time.h"

/// Reading JSON that may be torn or hostile: a field that is missing or of another type is as one
/// that is empty.
namespace safelaunch::report {

using Json = nlohmann::ordered_json;

[[nodiscard]] Json parse_json(std::string_view text);
[[nodiscard]] std::string text_of(const Json& json, const char* key);
[[nodiscard]] std::vector<std::string> texts_of(const Json& json, const char* key);
[[nodiscard]] std::vector<int> numbers_of(const Json& json, const char* key);
[[nodiscard]] std::optional<int> number_of(const Json& json, const char* key);
[[nodiscard]] std::optional<std::int64_t> large_number_of(const Json& json, const char* key);
/// From seconds; never negative and never more than ten years.
[[nodiscard]] Duration duration_of(const Json& json, const char* key);

}  // namespace safelaunch::report
