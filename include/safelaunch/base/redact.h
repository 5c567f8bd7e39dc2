#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace safelaunch {

/// What stands in the place of a secret in everything that safelaunch writes.
inline constexpr std::string_view kRedacted = "[redacted]";

/// Whether a variable or option of this name holds a secret: *TOKEN*, *SECRET*, *PASSWORD*,
/// *API_KEY*, AWS_ACCESS_KEY_ID, … (case and - or _ do not matter).
[[nodiscard]] bool is_secret_name(std::string_view name);

/// A command line fit for a record: values of options that hold secrets, `NAME=value` words with a
/// secret name, passwords in URLs and well-known token forms (hf_…, sk-…, AKIA…) are replaced.
[[nodiscard]] std::vector<std::string> redact(std::span<const std::string> words);

/// The same for one text, where only passwords in URLs and token forms can be told.
[[nodiscard]] std::string redact_text(std::string_view text);

}  // namespace safelaunch
