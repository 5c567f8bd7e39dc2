#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace safelaunch::host {

/// The place of a process in the hierarchy of one cgroup controller, as files show it.
struct CgroupFolder {
  bool unified = true;  ///< version 2: one hierarchy for all controllers, other file names
  std::string mount;    ///< the folder in which the hierarchy is mounted
  std::string path;     ///< the process's cgroup below it; "" is the root that we see
  [[nodiscard]] bool found() const { return !mount.empty(); }
  [[nodiscard]] std::string file(std::string_view name) const;
};

/// Takes the place from the texts of /proc/PID/cgroup and /proc/PID/mountinfo. It is not found
/// where the controller is not mounted, or shows only the part of other processes. Pure.
[[nodiscard]] CgroupFolder cgroup_folder(std::string_view controller, std::string_view cgroup,
                                         std::string_view mountinfo);

/// The cgroup itself, its parent, … up to the root that we see: each may set a limit.
[[nodiscard]] std::vector<CgroupFolder> up_to_root(CgroupFolder folder);

/// The rest that our cgroups (a container, a Slurm job) and the host leave us. nullopt: not
/// limited, or not told.
struct Quotas {
  /// Bytes: the tightest limit of our cgroup and of those above.
  std::optional<std::uint64_t> memory_limit;
  std::optional<std::uint64_t> memory_left;  ///< bytes that may still be taken, page cache included
  std::string memory_file;                   ///< the file that holds the tightest limit
  std::optional<double> cpus;
  std::optional<std::int64_t> processes_left;  ///< processes and threads
  bool operator==(const Quotas&) const = default;
};

[[nodiscard]] Quotas read_quotas();

/// The bytes in a limit's file; nullopt for "max" and for version 1's huge number, which mean no
/// limit.
[[nodiscard]] std::optional<std::uint64_t> parse_byte_limit(std::string_view text);

/// The CPUs of "150000 100000" (version 2's cpu.max; version 1's quota and period alike); nullopt
/// for "max …" and "-1 …".
[[nodiscard]] std::optional<double> parse_cpu_quota(std::string_view text);

/// The value of a line "NAME value" in memory.stat, or of "NAME:  value kB" in /proc/meminfo, in
/// bytes.
[[nodiscard]] std::optional<std::uint64_t> parse_memory_line(std::string_view text,
                                                             std::string_view name);

/// The out-of-memory killer leaves no word with the process that it kills; the counter of the
/// cgroup is the proof.

/// The file that counts the kills of a memory cgroup ("…/memory.events" in version 2,
/// "…/memory.oom_control" in version 1), from the texts of /proc/PID/cgroup and
/// /proc/PID/mountinfo; empty where no memory controller is mounted. Pure.
[[nodiscard]] std::string oom_counter_file(std::string_view cgroup, std::string_view mountinfo);

/// The value of "oom_kill" in such a file's text.
[[nodiscard]] std::optional<std::int64_t> oom_kills_in(std::string_view text);

/// How many processes the kernel has killed for want of memory in our own memory cgroup, since that
/// cgroup was made; nullopt where it does not tell. The difference of two calls tells of the time
/// between them.
[[nodiscard]] std::optional<std::int64_t> oom_kills_of_our_cgroup();

/// Whether the process's cgroup is frozen, or one above it. A process in it is in state D wherever
/// it was when it was frozen: new kernels show no function of the freezer (Linux 6.18 was tried).
/// `unified` tells whose file the text is: version 2's cgroup.events or version 1's freezer.state.
[[nodiscard]] bool says_frozen(std::string_view text, bool unified);
[[nodiscard]] bool is_frozen(int pid);

/// No limit at all.
inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

/// One resource limit: the value in force, and the value up to which a process may raise it by
/// itself.
struct Limit {
  std::uint64_t soft = kUnlimited;
  std::uint64_t hard = kUnlimited;
  bool operator==(const Limit&) const = default;
};

/// The limits that a job inherits from us and that training runs into.
struct ResourceLimits {
  Limit locked_memory;  ///< bytes; InfiniBand pins its buffers
  Limit open_files;
  Limit processes;  ///< processes and threads of this user
  Limit stack;      ///< bytes
  Limit core;       ///< bytes
  bool operator==(const ResourceLimits&) const = default;
};

[[nodiscard]] ResourceLimits read_limits();

}  // namespace safelaunch::host
