#pragma once

#include <string_view>

#include "safelaunch/host/process_facts.h"

namespace safelaunch::host {

/// A process that was started with this in its environment asks to live on when its job ends: an
/// upload, a tmux server, an ssh-agent. Neither half of safelaunch ends it, nor does a later clean.
/// It is not handed on to a job that safelaunch starts, which would keep itself as a whole.
inline constexpr std::string_view kKeepVariable = "SAFELAUNCH_KEEP";
inline constexpr std::string_view kKeepSetting = "SAFELAUNCH_KEEP=1";

/// Whether it asks for that; `raw_environment` is as raw_environment_of gives it.
[[nodiscard]] inline bool asks_to_be_kept(std::string_view raw_environment) {
  return variable_in(raw_environment, kKeepVariable) == std::string_view("1");
}

}  // namespace safelaunch::host
