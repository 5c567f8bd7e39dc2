#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace safelaunch::testing {

/// The value of a variable; none if it is unset or empty.
[[nodiscard]] std::optional<std::string> setting(const char* name);

/// The value as a number, as NCCL reads its parameters.
[[nodiscard]] long number_setting(const char* name, long otherwise);

/// SAFELAUNCH_DOUBLE_FAULT: the fault of this NCCL.
[[nodiscard]] bool fault(std::string_view word);

/// Is this the N-th collective of a fault `word:N`, or a later one? See knob_number.
[[nodiscard]] bool fault_from(std::string_view word, long collective);

/// Does this release use cuMem, as it does on modern drivers?
[[nodiscard]] bool uses_cumem();

/// Does this release have a RAS, and is it on?
[[nodiscard]] bool has_ras();

/// Are transports connected by the first collective (true) or by init (false)?
[[nodiscard]] bool connects_lazily();

}  // namespace safelaunch::testing
