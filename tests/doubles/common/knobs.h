#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace safelaunch::testing {

/// The words of a knob: an environment variable that holds `word,word:value,…`. Read at each call,
/// because a test may set it between two.
[[nodiscard]] std::vector<std::string> knob_words(const char* variable);

/// Is `word` among them?
[[nodiscard]] bool knob_has(const char* variable, std::string_view word);

/// The text behind `word:`, of the first such word.
[[nodiscard]] std::optional<std::string> knob_value(const char* variable, std::string_view word);

/// A knob `word:N` or `word:N@RANK`, which acts from the N-th time on and, where a rank is named,
/// only in the process whose RANK it is. None if it is not set or not for this process.
[[nodiscard]] std::optional<long> knob_number(const char* variable, std::string_view word);

/// The knobs `hang` and `crash`, which a driver in trouble does at its first call.
void hang_or_crash(const char* variable);

}  // namespace safelaunch::testing
