#pragma once

#include "safelaunch/base/result.h"
#include "safelaunch/profile/yaml_file.h"
#include "safelaunch/settings/settings.h"

namespace safelaunch::profile {

/// The settings of an `options:` map of a file that may hold those of `scope`.
[[nodiscard]] Result<settings::Settings> read_settings(const YamlNode& node,
                                                       settings::OptionScope scope);

}  // namespace safelaunch::profile
