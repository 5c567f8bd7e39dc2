#pragma once

#include <optional>
#include <string_view>

#include "safelaunch/base/result.h"
#include "safelaunch/base/unique_fd.h"

/// Tells whether somebody else could change a file of ours, or put another one in its place. No
/// file in such a folder may run in a job, and we keep nothing there unasked.
namespace safelaunch {

/// The facts of fstat(2) on which the trust in a file or folder depends.
struct Ownership {
  unsigned owner = 0;  ///< uid
  unsigned group = 0;  ///< gid
  unsigned mode = 0;   ///< permission bits
  /// Where the group may write: an ACL lets somebody else write, and the group has other members.
  bool has_named_writer = false;
  bool has_shared_group = false;
};

/// The people beside `user` and root who can change a file, or the content of a folder.
enum class Outsider { none, owner, named, group, everybody };

/// The outsiders for these facts. A group with its owner's number and no other member is that
/// owner's own (`useradd` makes it so, and a umask of 002 then lets it write everywhere); any other
/// group has strangers among its members.
[[nodiscard]] Outsider outsider_of(const Ownership& facts, unsigned user);

/// Whether a user namespace has the host's numbers for all users (/proc/self/uid_map). Any other
/// one shows the host's root as nobody.
[[nodiscard]] bool maps_all_users(std::string_view uid_map);

/// The reason why others could change the file at `path`, or put another one there: "everybody can
/// write to /scratch (mode 0777)". nullopt where only we and root can. The walk from / judges each
/// folder, link and file. Others may write to a folder with the sticky bit if it is not the last
/// one: our entries in it stay ours. A folder that cannot be looked at is not trusted.
[[nodiscard]] std::optional<std::string> distrust_path(const std::string& path);

/// The reason why others could exchange what we make in the folder at `path`, as distrust_path()
/// gives it for what lies there. Others may write to it where it has the sticky bit.
[[nodiscard]] std::optional<std::string> distrust_place(const std::string& path);

/// Opens a folder for openat(2) and the like (O_PATH); none where a link of another user leads to
/// it, or there is no folder. Each part is held open while it is judged, so whoever exchanges a
/// folder with a link meanwhile cannot lead us elsewhere.
[[nodiscard]] UniqueFd open_folder(const std::string& path);

/// Makes a folder that the user has named, and the missing ones above it, with mode 0700. The
/// folders that exist are not judged. False, with errno, where it cannot be made.
[[nodiscard]] bool make_folder(const std::string& path);

/// Makes a folder that the user has not named. Errors: it cannot be made, it is not ours, or
/// distrust_path() gives a reason.
[[nodiscard]] Result<void> make_private_folder(const std::string& path);

}  // namespace safelaunch
