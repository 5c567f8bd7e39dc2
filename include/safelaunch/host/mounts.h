#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The mounted file systems, from the kernel's table alone: a question to the file system itself
/// may hang when its server is gone.
namespace safelaunch::host {

struct Mount {
  std::string root;   ///< the part of the file system that is mounted
  std::string point;  ///< the folder in which it is mounted
  std::string type;   ///< "ext4", "nfs4", "overlay", "tmpfs", "fuse.s3fs"
  std::string source;
  std::string super_options;  ///< the options of the file system, with commas between them
  bool operator==(const Mount&) const = default;
};

/// The lines of /proc/PID/mountinfo, in its order. Lines that make no sense are left out.
[[nodiscard]] std::vector<Mount> parse_mounts(std::string_view mountinfo);

[[nodiscard]] std::vector<Mount> read_mounts();

/// The mount that holds an absolute path; nullptr where the table is empty. Of two mounts on one
/// point the later one hides the earlier.
[[nodiscard]] const Mount* mount_of(std::span<const Mount> mounts, std::string_view path);

/// Whether other hosts may hold the files open, and a server that is gone may block every look at
/// them.
[[nodiscard]] bool is_network(const Mount& mount);

}  // namespace safelaunch::host
