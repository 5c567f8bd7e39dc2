#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "safelaunch/profile/yaml_file.h"

namespace safelaunch::profile {

/// Whether a file that merely lies in the working directory may set this variable: it tunes a
/// library and names no file, folder or plugin. A data set that somebody unpacks may hold such a
/// file, and he starts a script of his own there.
[[nodiscard]] bool is_harmless_variable(std::string_view name);

/// What a config or a profile says that runs code, writes or deletes elsewhere: "sets LD_PRELOAD",
/// "changes the script's arguments". nullopt where it says nothing of that kind.
[[nodiscard]] std::optional<std::string> what_needs_trust(const YamlNode& root);

/// The same of a file's text; a text that is no YAML needs none, since its reader refuses it.
[[nodiscard]] std::optional<std::string> what_needs_trust(std::string_view text);

}  // namespace safelaunch::profile
