#include "safelaunch/host/file_use.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/process_facts.h"

/// Two questions decide. The kernel is asked whether anybody has the file open or mapped. Where
/// nobody has, the processes of our user are counted that may come back to it later.
namespace safelaunch::host {
namespace {

std::string_view folder_of(std::string_view path) {
  return path.substr(0, path.rfind('/'));
}

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_within(std::string_view target, std::string_view folder) {
  return target.starts_with(folder) &&
         (target.size() == folder.size() || target[folder.size()] == '/');
}

bool is_lock(const std::string& path) {
  return name_of(path) == "lock";
}

/// Whether it is a program into which the kernel lets nobody look, since it once had another user's
/// rights. Every login has one or two; no job runs in them.
bool keeps_a_session(const ProcessFacts& process) {
  constexpr std::array<std::string_view, 9> kNames{"sshd",      "sshd-session", "(sd-pam)",
                                                   "ssh-agent", "su",           "sudo",
                                                   "gpg-agent", "systemd",      "login"};
  return process.id.pid == 1 || std::ranges::find(kNames, process.comm) != kNames.end();
}

/// The target of a link of /proc; empty, with the reason in `error`, where the kernel does not tell
/// it.
class Link {
 public:
  explicit Link(const ProcPath& path) {
    size_ = ::readlink(path.c_str(), buffer_.data(), buffer_.size());
    error_ = size_ < 0 ? errno : 0;
  }
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] std::string_view text() const {
    return {buffer_.data(), size_ > 0 ? static_cast<std::size_t>(size_) : 0};
  }

 private:
  std::array<char, 4096> buffer_;
  long size_ = -1;
  int error_ = 0;
};

/// Looks for processes that have none of the files open, and may come back to one of them.
class Company {
 public:
  explicit Company(const std::vector<LeftFile>& files) : us_(::geteuid()) {
    for (const LeftFile& file : files)
      if (is_lock(file.path)) locks_.push_back(&file);
  }

  void look_at(int pid, FileUse& use) {
    if (!locks_.empty()) note_folder(Link(ProcPath(pid, "cwd")).text(), use);
    const Link program(ProcPath(pid, "exe"));
    if (program.error() == EACCES) return note_closed(pid, use);
    const std::string_view path = program.text();  // empty: a zombie, or a thread of the kernel
    if (path.empty()) return;
    if (is_compiler(name_of(path)) && is_ours(pid)) ++use.compilers;
    if (!runs_python(pid, path)) return;
    const auto facts = facts_of(pid);
    if (facts && facts->uid == us_) use.oldest_python = std::max(use.oldest_python, facts->age);
  }

 private:
  /// A build works in the folder of its lock.
  void note_folder(std::string_view folder, FileUse& use) const {
    for (const LeftFile* lock : locks_)
      if (is_within(folder, folder_of(lock->path))) use.used.push_back(lock->path);
  }

  void note_closed(int pid, FileUse& use) const {
    const auto facts = facts_of(pid);
    const bool counts = facts && facts->uid == us_ && !keeps_a_session(*facts);
    if (counts && is_running(facts->id)) ++use.unreadable;
  }

  [[nodiscard]] bool is_ours(int pid) const {
    struct stat folder {};
    return ::stat(ProcPath(pid, "").c_str(), &folder) == 0 && folder.st_uid == us_;
  }

  /// Whether the program is Python by its name, or has Python inside. In the second case all its
  /// processes have it, so a look into one of them is enough: the mappings cost ten times as much
  /// as all the rest.
  bool runs_python(int pid, std::string_view program) {
    const std::string_view name = name_of(program);
    if (name.starts_with("python") || name.starts_with("pypy")) return true;
    const auto known = embeds_python_.find(program);
    if (known != embeds_python_.end()) return known->second;
    if (!is_ours(pid)) return false;
    return embeds_python_.emplace(program, maps_contain(pid, "/libpython")).first->second;
  }

  unsigned us_;
  std::vector<const LeftFile*> locks_;
  std::map<std::string, bool, std::less<>> embeds_python_;
};

constexpr long kZfs = 0x2fc12fc1;  // no header of the kernel has it

/// Opens the file again; empty where it is not the one that was seen.
UniqueFd open_again(const LeftFile& file) {
  UniqueFd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat now {};
  if (fd && (::fstat(fd.get(), &now) != 0 || now.st_dev != file.device || now.st_ino != file.inode))
    fd.reset();
  return fd;
}

/// Whether the file lies on a file system of this host alone. On a network the kernel of another
/// host may know a holder that ours does not know, and some network file systems leave leases to
/// each kernel alone. The path does not tell, since it may lead over links.
bool is_on_this_host(int fd) {
  constexpr std::array<long, 8> kLocal{
      TMPFS_MAGIC,           EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
      OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, RAMFS_MAGIC,     kZfs};
  struct statfs system {};
  return ::fstatfs(fd, &system) == 0 &&
         std::ranges::find(kLocal, static_cast<long>(system.f_type)) != kLocal.end();
}

}  // namespace

Holder holder_of(const LeftFile& file) {
  const UniqueFd fd = open_again(file);
  if (!fd || !is_on_this_host(fd.get())) return Holder::untold;
  // If somebody opens the file while we have the lease, the kernel sends us a signal. That is
  // SIGIO, which is deadly, unless we ask for another.
  ::fcntl(fd.get(), F_SETSIG, SIGURG);
  if (::fcntl(fd.get(), F_SETLEASE, F_WRLCK) == 0) {
    ::fcntl(fd.get(), F_SETLEASE, F_UNLCK);
    return Holder::nobody;
  }
  return errno == EAGAIN ? Holder::somebody : Holder::untold;
}

FileUse use_of(const std::vector<LeftFile>& files) {
  FileUse use;
  for (const LeftFile& file : files) {
    const Holder holder = holder_of(file);
    if (holder == Holder::somebody) use.used.push_back(file.path);
    if (holder == Holder::untold) use.untold.push_back(file.path);
  }
  if (use.used.size() == files.size()) return use;
  Company company(files);
  for (const int pid : numbers_in_folder("/proc")) company.look_at(pid, use);
  return use;
}

}  // namespace safelaunch::host
