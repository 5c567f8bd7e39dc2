#pragma once

#include <string_view>

#include "safelaunch/base/result.h"

namespace safelaunch::cli {

/// Writes a verb's answer to stdout, whole and at once. Returns the status 0.
int answer(std::string_view text);

/// Says on stderr why a verb cannot do what it was asked. Returns the status for that error.
int refuse(const Error& error);

/// A word of warning on stderr.
void warn(std::string_view text);

}  // namespace safelaunch::cli
