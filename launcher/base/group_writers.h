#pragma once

#include <string_view>

/// The people whom the group bits of a mode let write, beside its owner: the mode alone does not
/// tell.
namespace safelaunch {

/// Whether an ACL lets a user or a group write that it names, other than `user` and root. `acl` is
/// the value of system.posix_acl_access; one of another form is taken to let somebody write.
[[nodiscard]] bool lets_named_write(std::string_view acl, unsigned user);

/// Whether a group has a member other than the user with that number. `groups` and `users` are the
/// texts of /etc/group and /etc/passwd. Members whom a directory service alone knows are not seen.
[[nodiscard]] bool has_other_members(std::string_view groups, std::string_view users,
                                     unsigned group, unsigned user);

}  // namespace safelaunch
