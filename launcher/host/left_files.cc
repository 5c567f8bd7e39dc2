#include "safelaunch/host/left_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <optional>
#include <set>

#include "proc_file.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/host/process_tree.h"

namespace safelaunch {
namespace {

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, decltype([](DIR* open) { ::closedir(open); })> open(
      ::opendir(folder.c_str()));
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr)
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  std::ranges::sort(names);
  return names;
}

Duration age_of(std::int64_t written) {
  return std::chrono::seconds(std::max<std::int64_t>(0, ::time(nullptr) - written));
}

/// nullopt for what is no plain file, a link to one included.
std::optional<LeftFile> look_at(const std::string& path) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return std::nullopt;
  LeftFile left;
  left.path = path;
  constexpr std::uint64_t kBlock = 512;  // as stat(2) counts; what is not written takes no memory
  left.bytes = static_cast<std::uint64_t>(file.st_blocks) * kBlock;
  left.device = file.st_dev;
  left.inode = file.st_ino;
  left.uid = file.st_uid;
  left.written = file.st_mtim.tv_sec;
  left.age = age_of(left.written);
  return left;
}

std::string_view folder_of(std::string_view path) {
  return path.substr(0, path.rfind('/'));
}

/// Programs that the kernel lets nobody look into, since they once had another user's rights. Every
/// login has one or two; no job runs in them.
bool keeps_a_session(const ProcessFacts& process) {
  constexpr std::array<std::string_view, 9> kNames{"sshd",      "sshd-session", "(sd-pam)",
                                                   "ssh-agent", "su",           "sudo",
                                                   "gpg-agent", "systemd",      "login"};
  return process.id.pid == 1 || std::ranges::find(kNames, process.comm) != kNames.end();
}

/// What one process maps, holds open and works in.
class Looker {
 public:
  explicit Looker(const std::vector<LeftFile>& files) : files_(files) {}

  /// Whether it runs Python; nullopt where we may not look.
  std::optional<bool> look_into(int pid) {
    const auto maps = read_whole(ProcPath(pid, "maps").c_str());
    if (!maps) return std::nullopt;
    for (std::string_view rest = *maps; !rest.empty();) note_mapping(take_word(rest, '\n'));
    note_link(ProcPath(pid, "cwd").c_str());
    for (const int fd : numbers_in_folder(ProcPath(pid, "fd").c_str()))
      note_link(ProcPath(pid, fmt::format("fd/{}", fd)).c_str());
    return maps->find("/python") != std::string::npos ||
           maps->find("/libpython") != std::string::npos;
  }

  [[nodiscard]] std::vector<std::string> used() const { return {used_.begin(), used_.end()}; }

 private:
  /// "ADDRESSES PERMISSIONS OFFSET MAJOR:MINOR INODE PATH". The path is the one that the process
  /// sees: in a container it may be another than ours, where the inode is the same.
  void note_mapping(std::string_view line) {
    for (int skipped = 0; skipped < 3; ++skipped) (void)take_word(line);
    const auto major = number_in<unsigned>(take_word(line, ':'), 16);
    const auto minor = number_in<unsigned>(take_word(line), 16);
    const auto inode = number_in(take_word(line));
    if (inode == 0) return;
    for (const LeftFile& file : files_)
      if (file.inode == inode && file.device == ::makedev(major, minor)) used_.insert(file.path);
  }

  /// A file itself; or a folder or file beside it, since a build works in the lock's folder.
  void note_link(const char* path) {
    std::array<char, 4096> buffer;
    const auto size = ::readlink(path, buffer.data(), buffer.size());
    if (size <= 0 || buffer.front() != '/') return;
    const std::string_view target(buffer.data(), static_cast<std::size_t>(size));
    for (const LeftFile& file : files_)
      if (target == file.path ||
          (file.path.ends_with("/lock") && is_within(target, folder_of(file.path))))
        used_.insert(file.path);
  }

  static bool is_within(std::string_view target, std::string_view folder) {
    return target.starts_with(folder) &&
           (target.size() == folder.size() || target[folder.size()] == '/');
  }

  const std::vector<LeftFile>& files_;
  std::set<std::string> used_;
};

}  // namespace

SharedMemory read_shared_memory(const std::string& path) {
  SharedMemory memory;
  struct statvfs system {};
  if (::statvfs(path.c_str(), &system) != 0) return memory;
  memory.path = path;
  memory.bytes = std::uint64_t{system.f_blocks} * system.f_frsize;
  memory.available = std::uint64_t{system.f_bavail} * system.f_frsize;
  for (const std::string& name : entries_of(path))
    if (auto file = look_at(path + "/" + name)) memory.files.push_back(std::move(*file));
  return memory;
}

bool is_job_segment(const std::string& path) {
  constexpr std::array<std::string_view, 7> kPrefixes{
      "nccl-", "torch_", "deepspeed_allreduce_buffer_", "psm_", "vllm", "sgl_", "sem.mp-"};
  const auto name = std::string_view(path).substr(path.rfind('/') + 1);
  return std::ranges::any_of(kPrefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

std::string extensions_folder(const Environment& environment) {
  if (const auto folder = value_or(environment, "TORCH_EXTENSIONS_DIR"); !folder.empty())
    return std::string(folder);
  if (const auto cache = value_or(environment, "XDG_CACHE_HOME"); !cache.empty())
    return std::string(cache) + "/torch_extensions";
  const auto home = value_or(environment, "HOME");
  return home.empty() ? "" : std::string(home) + "/.cache/torch_extensions";
}

std::vector<LeftFile> extension_locks(const std::string& folder) {
  // ROOT/NAME/lock where the variable is set, ROOT/py311_cu121/NAME/lock where it is not.
  std::vector<LeftFile> locks;
  for (const std::string& outer : entries_of(folder)) {
    const std::string first = folder + "/" + outer;
    if (auto lock = look_at(first + "/lock")) locks.push_back(std::move(*lock));
    for (const std::string& inner : entries_of(first))
      if (auto lock = look_at(first + "/" + inner + "/lock")) locks.push_back(std::move(*lock));
  }
  return locks;
}

FileUse users_of(const std::vector<LeftFile>& files) {
  FileUse use;
  Looker looker(files);
  const auto us = ::geteuid();
  for (const ProcessFacts& process : Procfs().all(std::nullopt)) {
    if (process.state == 'Z') continue;
    const auto python = looker.look_into(process.id.pid);
    if (process.uid != us) continue;
    if (!python && !keeps_a_session(process) && is_running(process.id)) ++use.unreadable;
    if (python.value_or(false)) use.oldest_python = std::max(use.oldest_python, process.age);
    use.compilers += is_compiler(process.comm) ? 1 : 0;
  }
  use.used = looker.used();
  return use;
}

}  // namespace safelaunch
