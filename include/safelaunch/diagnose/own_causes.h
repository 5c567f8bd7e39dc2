#pragma once

#include <string>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/diagnose/catalogue.h"

/// The catalogue with the rows that people add on their own hosts.
namespace safelaunch::diagnose {

/// Where they may stand: /etc/safelaunch/causes.yaml, then causes.yaml in the user's configuration
/// folder. A row of the later one takes the place of the earlier one's, and both those of ours.
[[nodiscard]] std::vector<std::string> own_cause_files(const Environment& environment);

/// The built-in catalogue with the rows of those files that exist. Errors: a mistake, by file and
/// line; a file that others can write to.
[[nodiscard]] Result<Catalogue> load_catalogue(const std::vector<std::string>& files);

/// The catalogue of this process, read at the first call. A job's diagnosis is not lost to a
/// mistake in a file: that is told as a warning, and the built-in rows count alone.
[[nodiscard]] const Catalogue& catalogue();

}  // namespace safelaunch::diagnose
