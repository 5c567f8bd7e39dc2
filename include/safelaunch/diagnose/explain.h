#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/sighting.h"

namespace safelaunch::diagnose {

/// A row of the catalogue for a reader: what it is, what is done about it, what shows it.
[[nodiscard]] std::string explain(const Cause& cause);

/// The causes that a log shows, the reason before its victims; empty for a healthy log. A log of
/// NCCL that ends before its communicator is complete shows `rank-missing`, as a guess.
[[nodiscard]] std::vector<Sighting> read_log(std::string_view log, const Catalogue& catalogue);

/// `read_log` for a reader: each cause with the line that shows it, then the first failing rank's
/// traceback.
[[nodiscard]] std::string explain_log(std::string_view log, const Catalogue& catalogue);

}  // namespace safelaunch::diagnose
