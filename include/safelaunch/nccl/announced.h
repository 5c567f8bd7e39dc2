#pragma once

#include <string_view>

#include "safelaunch/nccl/version.h"

namespace safelaunch::nccl {

/// The name under which this version says in its log that it has read a variable ("… set by
/// environment to …"); empty where it reads it without a word.
[[nodiscard]] std::string_view announced_as(std::string_view variable, const Version& version);

}  // namespace safelaunch::nccl
