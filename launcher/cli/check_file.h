#pragma once

#include <string>

#include "safelaunch/base/environment.h"
#include "safelaunch/profile/config.h"

namespace safelaunch::cli {

/// Checks a safelaunch.yaml as a run reads it: its keys and values, the profiles of its chains, and
/// what the host's file locks. The text says that it is good, and warns of variables that nobody
/// reads. Error (bad_config): the mistakes, each with file and line.
[[nodiscard]] Result<std::string> check_config(const profile::YamlNode& root,
                                               const std::string& file,
                                               const Environment& environment);

/// Checks the file of a profile or of settings, whichever it is; `otherwise` where its words do not
/// tell. A word that names no file is the name of a profile.
[[nodiscard]] Result<std::string> check_file(const std::string& word, profile::FileKind otherwise,
                                             const Environment& environment);

}  // namespace safelaunch::cli
