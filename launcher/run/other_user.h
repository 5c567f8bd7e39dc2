#pragma once

#include <span>
#include <string>

#include "safelaunch/base/event.h"
#include "safelaunch/host/process_facts.h"

namespace safelaunch::run {

/// The program at the head of a command with which root hands on to another user ("gosu",
/// "setpriv"); empty where there is none, or we are not root. That user can neither reach our
/// socket nor write where NCCL's log would go, and NCCL would then write it to the job's stdout.
[[nodiscard]] std::string changes_user(std::span<const std::string> command, unsigned our_uid);

/// The line about a rank that was found to run as another user than we do: a script in between has
/// handed on, and its NCCL has been told already where to write its log.
[[nodiscard]] std::string runs_as_another_user(Rank rank, const host::ProcessFacts& process);

}  // namespace safelaunch::run
