#include "group_writers.h"

#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>

#include <cstring>
#include <optional>

#include "safelaunch/base/strings.h"

// The bytes of an ACL are little-endian, as are all hosts that safelaunch runs on.
namespace safelaunch {
namespace {

template <class Part>
std::optional<Part> take_struct(std::string_view& bytes) {
  if (bytes.size() < sizeof(Part)) return std::nullopt;
  Part part{};
  std::memcpy(&part, bytes.data(), sizeof part);
  bytes.remove_prefix(sizeof part);
  return part;
}

/// The fields of one line of /etc/group or /etc/passwd.
struct AccountLine {
  std::string_view name;
  std::string_view number;
  std::string_view fourth;  ///< a group's members, or a user's first group
};

AccountLine take_account(std::string_view& text) {
  std::string_view line = take_word(text, '\n');
  AccountLine account;
  account.name = take_word(line, ':');
  (void)take_word(line, ':');
  account.number = take_word(line, ':');
  account.fourth = take_word(line, ':');
  return account;
}

bool is_number_of(std::string_view text, unsigned number) {
  return is_number(text) && number_in(text) == number;
}

std::string_view name_of_user(std::string_view users, unsigned user) {
  while (!users.empty()) {
    const AccountLine account = take_account(users);
    if (is_number_of(account.number, user)) return account.name;
  }
  return {};
}

bool is_first_group_of_another(std::string_view users, unsigned group, unsigned user) {
  while (!users.empty()) {
    const AccountLine account = take_account(users);
    if (is_number_of(account.fourth, group) && !is_number_of(account.number, user)) return true;
  }
  return false;
}

}  // namespace

bool lets_named_write(std::string_view acl, unsigned user) {
  const auto header = take_struct<posix_acl_xattr_header>(acl);
  if (!header || header->a_version != POSIX_ACL_XATTR_VERSION) return true;
  while (!acl.empty()) {
    const auto entry = take_struct<posix_acl_xattr_entry>(acl);
    if (!entry) return true;
    const bool is_other = entry->e_tag == ACL_GROUP ||
                          (entry->e_tag == ACL_USER && entry->e_id != user && entry->e_id != 0);
    if (is_other && (entry->e_perm & ACL_WRITE) != 0) return true;
  }
  return false;
}

bool has_other_members(std::string_view groups, std::string_view users, unsigned group,
                       unsigned user) {
  const std::string_view own_name = name_of_user(users, user);
  while (!groups.empty()) {
    AccountLine line = take_account(groups);
    if (!is_number_of(line.number, group)) continue;
    while (!line.fourth.empty())
      if (const std::string_view member = take_word(line.fourth, ',');
          !member.empty() && member != own_name)
        return true;
  }
  return is_first_group_of_another(users, group, user);
}

}  // namespace safelaunch
