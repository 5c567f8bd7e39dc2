#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/time.h"

namespace safelaunch::host {

/// One line of the kernel's log.
struct KernelMessage {
  std::string text;
  Duration age{};
  bool operator==(const KernelMessage&) const = default;
};

/// Takes a record of /dev/kmsg apart ("6,339,5140900,-;NVRM: loading", with more lines about the
/// device), seen `uptime` after the boot; nullopt for any other text.
[[nodiscard]] std::optional<KernelMessage> parse_kernel_message(std::string_view record,
                                                                Duration uptime);

/// The messages with `part` in them that the kernel still has, the oldest first. Empty where we may
/// not read them, as in most containers and under kernel.dmesg_restrict.
[[nodiscard]] std::vector<KernelMessage> kernel_messages_with(std::string_view part);

}  // namespace safelaunch::host
