#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace safelaunch::testing {

/// The template arguments of `outer<…>` in a demangled name, where it stands first; empty if it
/// does not occur.
[[nodiscard]] std::vector<std::string> template_arguments(std::string_view name,
                                                          std::string_view outer);

/// The parameters of the last lambda in a name: `…::{lambda(float, long)#1}` → float, long.
[[nodiscard]] std::vector<std::string> lambda_parameters(std::string_view name);

/// The innermost numbered dispatch of a name, `…{lambda()#7}…` → 7; 0 if there is none.
[[nodiscard]] int dispatch_number(std::string_view name);

}  // namespace safelaunch::testing
