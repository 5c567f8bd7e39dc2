#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/time.h"
#include "safelaunch/redact/redactor.h"

namespace safelaunch::report {

using Json = nlohmann::ordered_json;

// Reads JSON that may be torn or hostile: a field that is missing or mistyped counts as empty.

[[nodiscard]] Json parse_json(std::string_view text);
[[nodiscard]] std::string text_of(const Json& json, const char* key);
[[nodiscard]] std::vector<std::string> texts_of(const Json& json, const char* key);
[[nodiscard]] std::vector<int> numbers_of(const Json& json, const char* key);
[[nodiscard]] std::optional<int> number_of(const Json& json, const char* key);
[[nodiscard]] std::optional<std::int64_t> large_number_of(const Json& json, const char* key);
/// From a number of seconds; never negative and never more than ten years.
[[nodiscard]] Duration duration_of(const Json& json, const char* key);

/// Learns the secrets of a document: by the names of its members, and from its texts.
void learn_from(const Json& json, redact::Redactor& redactor);

/// Takes the secrets out of a document; JSON stays JSON.
void redact(Json& json, const redact::Redactor& redactor);

}  // namespace safelaunch::report
