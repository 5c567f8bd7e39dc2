#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "safelaunch/base/environment.h"
#include "safelaunch/job/command.h"

namespace safelaunch::job {

/// A value and where it is written.
struct LauncherVariable {
  std::string value;
  PortPlace place;
};

/// The environment that a program will see behind words such as `env -u A B=1`, with the place of
/// each value: a variable may stand in argv.
class Variables {
 public:
  explicit Variables(const Environment& outer);

  [[nodiscard]] std::optional<LauncherVariable> find(std::string_view name) const;
  /// The value as a number, nullopt where it is unset or no number.
  [[nodiscard]] std::optional<int> number(std::string_view name) const;

  void assign(std::size_t word, std::string_view assignment);  ///< `NAME=VALUE` as a word of argv
  void unset(std::string_view name);
  void clear() { settings_.clear(); }

 private:
  std::map<std::string, LauncherVariable, std::less<>> settings_;
};

}  // namespace safelaunch::job
