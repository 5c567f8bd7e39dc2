#include "safelaunch/base/trusted_path.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "group_writers.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/base/user_file.h"

/// A path is trusted if nobody but us and root could change any part of it. So it is walked from /,
/// folder by folder, and every part is judged by its owner, group and mode.
namespace safelaunch {
namespace {

constexpr unsigned kGroupWrites = 0020;
constexpr unsigned kOthersWrite = 0002;
constexpr unsigned kSticky = 01000;
constexpr unsigned kNobody =
    65534;  // the number by which the kernel shows a user who has none in this namespace
constexpr int kMostLinks = 40;  // as many as the kernel's own walk follows

// Where the kernel does not tell, somebody may write.
bool has_named_writer(int fd) {
  std::array<char, 4096> acl{};
  const std::string link = fmt::format("/proc/self/fd/{}", fd);
  const ssize_t size = ::getxattr(link.c_str(), "system.posix_acl_access", acl.data(), acl.size());
  if (size < 0) return errno != ENODATA && errno != ENOTSUP;
  return lets_named_write({acl.data(), static_cast<std::size_t>(size)}, ::geteuid());
}

bool is_shared(unsigned group, unsigned owner) {
  constexpr std::size_t kMost = 16U << 20;  // of a host with some 100 000 accounts
  return has_other_members(user_file_text("/etc/group", kMost).value_or(""),
                           user_file_text("/etc/passwd", kMost).value_or(""), group, owner);
}

Ownership ownership_of(int fd, const struct stat& status) {
  Ownership facts{status.st_uid, status.st_gid, status.st_mode & 07777U, false, false};
  if ((facts.mode & kGroupWrites) == 0) return facts;  // where there is an ACL, they are its mask
  facts.has_named_writer = has_named_writer(fd);
  facts.has_shared_group = facts.group == facts.owner && is_shared(facts.group, facts.owner);
  return facts;
}

// In a container without the host's users, the folders above ours belong to the host's root, who
// looks like any neighbour. A job must run there too, so these folders are trusted.
bool is_hidden_root(unsigned owner) {
  if (owner != kNobody) return false;
  const Result<std::string> map = read_user_file("/proc/self/uid_map");
  return map && !maps_all_users(*map);
}

std::string in_words(Outsider outsider, const Ownership& facts, const std::string& path) {
  if (outsider == Outsider::owner) return fmt::format("{} belongs to uid {}", path, facts.owner);
  if (outsider == Outsider::everybody)
    return fmt::format("everybody can write to {} (mode {:04o})", path, facts.mode);
  if (outsider == Outsider::named)
    return fmt::format("an ACL lets others write to {}; `getfacl` names them", path);
  return fmt::format("group {} can write to {} (mode {:04o})", facts.group, path, facts.mode);
}

enum class Missing { is_an_error, is_made };

/// The parts of a path that a walk judges.
enum class Judged { all, links };

/// One walk along a path. It goes from folder to folder and holds each open, so that nobody can
/// exchange a part of the path behind us. The error of a step says why the path is not trusted.
class Walk {
 public:
  explicit Walk(Missing missing, Judged judged = Judged::all)
      : missing_(missing), judged_(judged) {}

  /// To the last part of a path, or to where something is to be made in it.
  Result<void> along(std::string path) {
    if (Result<void> there = go(std::move(path)); !there) return there;
    return judge_last();
  }
  Result<void> into(std::string path) {
    if (Result<void> there = go(std::move(path)); !there) return there;
    return judge_on_the_way();
  }

  /// The facts of the path's last part.
  [[nodiscard]] const Ownership& facts() const { return facts_; }
  [[nodiscard]] bool ends_at_folder() const { return is_folder_; }
  [[nodiscard]] UniqueFd take() { return std::move(at_); }

 private:
  Result<void> go(std::string path) {
    if (!path.starts_with('/')) {
      std::array<char, PATH_MAX> here{};
      if (::getcwd(here.data(), here.size()) == nullptr) return cannot("find", "this folder");
      path = std::string(here.data()) + "/" + path;
    }
    rest_ = std::move(path);
    if (Result<void> root = begin_at_root(); !root) return root;
    while (!rest_.empty())
      if (Result<void> step = take_step(next_name()); !step) return step;
    return {};
  }

  static Error cannot(const char* what, const std::string& path) {
    return Error{Errc::os, fmt::format("cannot {} {}: {}", what, path, strerror(errno))};
  }

  Result<void> begin_at_root() {
    at_.reset(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    where_ = "";
    struct stat status {};
    if (!at_ || ::fstat(at_.get(), &status) != 0) return cannot("open", "/");
    return arrive(status);
  }

  std::string next_name() {
    const std::size_t begin = std::min(rest_.find_first_not_of('/'), rest_.size());
    const std::size_t end = std::min(rest_.find('/', begin), rest_.size());
    std::string name = rest_.substr(begin, end - begin);
    rest_.erase(0, std::min(rest_.find_first_not_of('/', end), rest_.size()));
    return name;
  }

  Result<void> take_step(const std::string& name) {
    if (name.empty() || name == ".") return {};
    if (Result<void> passable = judge_on_the_way(); !passable) return passable;
    where_ += "/" + name;
    UniqueFd next = open_next(name);
    struct stat status {};
    if (!next || ::fstat(next.get(), &status) != 0) return cannot("open", where_);
    if (S_ISLNK(status.st_mode)) return follow(next, status);
    at_ = std::move(next);
    return arrive(status);
  }

  // Tries a folder first: only that makes the kernel mount a file system on demand.
  UniqueFd open_next(const std::string& name) {
    constexpr int kLook = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd next(::openat(at_.get(), name.c_str(), kLook | O_DIRECTORY));
    if (!next && errno == ENOENT && missing_ == Missing::is_made &&
        (::mkdirat(at_.get(), name.c_str(), 0700) == 0 || errno == EEXIST))
      next.reset(::openat(at_.get(), name.c_str(), kLook | O_DIRECTORY));
    if (!next && errno == ENOTDIR) next.reset(::openat(at_.get(), name.c_str(), kLook));
    return next;
  }

  Result<void> follow(const UniqueFd& link, const struct stat& status) {
    const Ownership facts{.owner = status.st_uid, .group = status.st_gid};  // nobody writes to one
    if (const Outsider outsider = outsider_for_us(facts); outsider != Outsider::none)
      return Error{Errc::os, in_words(outsider, facts, where_)};
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlinkat(link.get(), "", target.data(), target.size());
    if (++links_ > kMostLinks) errno = ELOOP;
    if (size <= 0 || links_ > kMostLinks) return cannot("follow", where_);
    rest_ = std::string(target.data(), static_cast<std::size_t>(size)) + "/" + rest_;
    where_.erase(where_.rfind('/'));
    return rest_.starts_with('/') ? begin_at_root() : Result<void>();
  }

  Result<void> arrive(const struct stat& status) {
    facts_ = judged_ == Judged::all ? ownership_of(at_.get(), status) : Ownership{};
    is_folder_ = S_ISDIR(status.st_mode);
    return {};
  }

  [[nodiscard]] static Outsider outsider_for_us(const Ownership& facts) {
    Ownership known = facts;
    if (is_hidden_root(facts.owner)) known.owner = 0;
    return outsider_of(known, ::geteuid());
  }

  [[nodiscard]] Result<void> judge(const Ownership& facts) const {
    if (judged_ == Judged::links) return {};
    const Outsider outsider = outsider_for_us(facts);
    if (outsider == Outsider::none) return {};
    return Error{Errc::os, in_words(outsider, facts_, where_.empty() ? "/" : where_)};
  }

  [[nodiscard]] Result<void> judge_on_the_way() const {
    Ownership facts = facts_;
    if (is_folder_ && (facts.mode & kSticky) != 0) facts.mode &= ~(kGroupWrites | kOthersWrite);
    return judge(facts);
  }

  [[nodiscard]] Result<void> judge_last() const { return judge(facts_); }

  Missing missing_;
  Judged judged_;
  UniqueFd at_;
  std::string where_;  ///< the way to `at_`, without links
  std::string rest_;   ///< the rest of the path
  Ownership facts_;    ///< the facts of `at_`
  bool is_folder_ = true;
  int links_ = 0;
};

}  // namespace

Outsider outsider_of(const Ownership& facts, unsigned user) {
  if (facts.owner != user && facts.owner != 0) return Outsider::owner;
  if ((facts.mode & kOthersWrite) != 0) return Outsider::everybody;
  if ((facts.mode & kGroupWrites) == 0) return Outsider::none;
  if (facts.has_named_writer) return Outsider::named;
  const bool is_own = facts.group == facts.owner && !facts.has_shared_group;
  return is_own ? Outsider::none : Outsider::group;
}

bool maps_all_users(std::string_view uid_map) {
  constexpr std::string_view kBlanks = " \t\n";
  std::string words;
  while (!uid_map.empty()) {
    uid_map.remove_prefix(std::min(uid_map.find_first_not_of(kBlanks), uid_map.size()));
    const std::size_t end = std::min(uid_map.find_first_of(kBlanks), uid_map.size());
    if (end > 0) words += std::string(uid_map.substr(0, end)) + " ";
    uid_map.remove_prefix(end);
  }
  return words == "0 0 4294967295 ";
}

std::optional<std::string> distrust_path(const std::string& path) {
  Walk walk(Missing::is_an_error);
  const Result<void> walked = walk.along(path);
  return walked ? std::nullopt : std::optional(walked.error().message);
}

std::optional<std::string> distrust_place(const std::string& path) {
  Walk walk(Missing::is_an_error);
  const Result<void> walked = walk.into(path);
  return walked ? std::nullopt : std::optional(walked.error().message);
}

UniqueFd open_folder(const std::string& path) {
  Walk walk(Missing::is_an_error, Judged::links);
  return walk.along(path) && walk.ends_at_folder() ? walk.take() : UniqueFd();
}

bool make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return true;
  struct stat there {};
  if (errno == EEXIST && ::stat(path.c_str(), &there) == 0) {
    errno = ENOTDIR;
    return S_ISDIR(there.st_mode);
  }
  const std::string above = std::filesystem::path(path).parent_path();
  if (errno != ENOENT || above.empty() || above == path || !make_folder(above)) return false;
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

Result<void> make_private_folder(const std::string& path) {
  Walk walk(Missing::is_made);
  if (Result<void> walked = walk.along(path); !walked) return walked;
  if (!walk.ends_at_folder()) return Error{Errc::os, path + " is not a folder"};
  if (walk.facts().owner == ::geteuid()) return {};
  return Error{Errc::os, fmt::format("{} belongs to uid {}", path, walk.facts().owner)};
}

}  // namespace safelaunch
