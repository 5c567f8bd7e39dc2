#pragma once

#include <span>
#include <string>

namespace safelaunch {

/// The program at the head of a command with which root hands on to another user ("gosu",
/// "setpriv"); empty where there is none, or we are not root. That user can neither reach our
/// socket nor write where NCCL's log would go, and NCCL would then write it to the job's stdout.
[[nodiscard]] std::string changes_user(std::span<const std::string> command, unsigned our_uid);

}  // namespace safelaunch
