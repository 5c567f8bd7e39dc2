#pragma once

#include <span>

#include "safelaunch/doctor/render.h"

namespace safelaunch::doctor {

/// Does what the advices allow: removes the files, ends the processes, each looked at again just
/// before. One line for each, whether it went well or not. Blocks while processes end.
[[nodiscard]] FixReport fix(std::span<const Advice> advices);

}  // namespace safelaunch::doctor
