#pragma once

#include <optional>

#include "safelaunch/base/environment.h"

namespace safelaunch::profile {

/// The memory of the settings that a user has been told of: a file in the folder of safelaunch's
/// state, and its content once this telling is remembered.
struct Telling {
  std::string file;
  std::string content;
};

/// Whether a user is to be told of settings with this text, for the first time or because the text
/// has changed: then what is to be written once they have been told. Without a home nothing is
/// remembered, and the `file` is empty.
[[nodiscard]] std::optional<Telling> first_telling(const Environment& environment,
                                                   std::string_view text);

/// The same, of what the memory holds now. A line of it stands for one text; the oldest go first.
[[nodiscard]] std::optional<std::string> memory_with(std::string_view memory,
                                                     std::string_view text);

}  // namespace safelaunch::profile
