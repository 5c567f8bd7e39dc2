#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "safelaunch/base/result.h"

/// Whether somebody else could change a file of ours, or put another one in its place. What stands
/// in such a folder must not run in a job, and nothing is kept there unasked.
namespace safelaunch {

/// What fstat(2) says about a file or folder, as far as trust depends on it.
struct Ownership {
  unsigned owner = 0;  ///< uid
  unsigned group = 0;  ///< gid
  unsigned mode = 0;   ///< permission bits
};

/// Who but `user` and root can change a file, or what a folder holds.
enum class Outsider { none, owner, group, everybody };

/// A group that has its owner's number is his own (`useradd` makes it so, and a umask of 002 then
/// lets it write everywhere); any other group has members who are strangers.
[[nodiscard]] Outsider outsider_of(const Ownership& facts, unsigned user);

/// Whether a user namespace has the host's numbers for all users (/proc/self/uid_map). In another,
/// the host's root is shown as nobody.
[[nodiscard]] bool maps_all_users(std::string_view uid_map);

/// Why others could change what stands at `path` or put another thing there: "everybody can write
/// to /scratch (mode 0777)". nullopt where nobody but us and root can. Judged is each folder, link
/// and file on the way from /. Others may write to a folder with the sticky bit if it is not the
/// last: what is ours in it stays ours. What cannot be looked at is not trusted.
[[nodiscard]] std::optional<std::string> distrust_path(const std::string& path);

/// Makes a folder and those above it that are missing, with mode 0700, where the user wants it:
/// nothing is asked about those that are there. False, with errno, where it cannot be made.
[[nodiscard]] bool make_folder(const std::string& path);

/// The same for a folder that the user has not named. Errors: it cannot be made,
/// it is not ours, or distrust_path().
[[nodiscard]] Result<void> make_private_folder(const std::string& path);

}  // namespace safelaunch
