#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace safelaunch::host {

/// Where a process stands in the hierarchy of one cgroup controller, as files show it.
struct CgroupFolder {
  bool unified = true;  ///< version 2: one hierarchy for all controllers, other file names
  std::string mount;    ///< where the hierarchy is mounted
  std::string path;     ///< the process's cgroup below it; "" is the root that we see
  [[nodiscard]] bool found() const { return !mount.empty(); }
  [[nodiscard]] std::string file(std::string_view name) const;
};

/// From the texts of /proc/PID/cgroup and /proc/PID/mountinfo; not found where the controller is
/// not mounted or shows other processes' part only. Pure.
[[nodiscard]] CgroupFolder cgroup_folder(std::string_view controller, std::string_view cgroup,
                                         std::string_view mountinfo);

/// The cgroup itself, its parent, … up to the root that we see: each may set a limit.
[[nodiscard]] std::vector<CgroupFolder> up_to_root(CgroupFolder folder);

}  // namespace safelaunch::host
