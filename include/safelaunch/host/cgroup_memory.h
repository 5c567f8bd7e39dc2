#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What the out-of-memory killer has done in a cgroup. It leaves no word with the process that it
/// kills; the counter of the cgroup is the proof.
namespace safelaunch::host {

/// The file that counts the kills of a memory cgroup ("…/memory.events" in version 2,
/// "…/memory.oom_control" in version 1), from the texts of /proc/PID/cgroup and
/// /proc/PID/mountinfo; empty where no memory controller is mounted. Pure.
[[nodiscard]] std::string oom_counter_file(std::string_view cgroup, std::string_view mountinfo);

/// The value of "oom_kill" in such a file's text.
[[nodiscard]] std::optional<std::int64_t> oom_kills_in(std::string_view text);

/// How many processes the kernel has killed for want of memory in our own memory cgroup, since the
/// cgroup is there; nullopt where it does not tell. The difference of two calls is what happened
/// between them.
[[nodiscard]] std::optional<std::int64_t> oom_kills_of_our_cgroup();

}  // namespace safelaunch::host
