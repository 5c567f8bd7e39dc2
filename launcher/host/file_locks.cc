#include "safelaunch/host/file_locks.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "safelaunch/base/format.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/host/proc.h"

// "3: -> FLOCK  ADVISORY  WRITE 3870 08:01:1234 0 EOF": an arrow stands before a process that
// waits. The device in that line is not the one that stat() tells on overlays and btrfs, so a lock
// is known by its inode, and its file by the holder's descriptors.
namespace safelaunch::host {
namespace {

namespace fs = std::filesystem;

std::optional<FileLock> lock_in(std::string_view line) {
  FileLock lock;
  static_cast<void>(take_word(line, ' '));  // "3:"
  std::vector<std::string_view> words;
  while (!line.empty())
    if (const std::string_view word = take_word(line, ' '); !word.empty()) words.push_back(word);
  if (!words.empty() && words.front() == "->") {
    lock.waits = true;
    words.erase(words.begin());
  }
  constexpr std::size_t kPid = 3;  // after FLOCK, ADVISORY, WRITE
  if (words.size() <= kPid + 1) return std::nullopt;
  const auto pid = to_number(words[kPid]);
  const std::string_view file = words[kPid + 1];
  const auto inode = to_number<std::uint64_t>(file.substr(file.rfind(':') + 1));
  if (!pid || !inode) return std::nullopt;
  lock.pid = *pid;
  lock.inode = *inode;
  return lock;
}

Duration age_of(const struct ::stat& file) {
  return std::max(Duration::zero(),
                  Duration(std::chrono::seconds(std::time(nullptr) - file.st_mtime)));
}

/// A file that a process has open.
struct OpenFile {
  std::string path;
  bool holds = false;  ///< a lock of its own, or one that it has inherited with the descriptor
};

bool holds_a_lock(int pid, const fs::path& descriptor) {
  std::ifstream info(fmt::format("/proc/{}/fdinfo/{}", pid, descriptor.filename().native()));
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("lock:")) return true;
  return false;
}

std::optional<OpenFile> opened(std::uint64_t inode, int pid) {
  std::optional<OpenFile> found;
  std::error_code error;
  const fs::path folder = fmt::format("/proc/{}/fd", pid);
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    struct ::stat file {};
    if (::stat(at->path().c_str(), &file) != 0 || file.st_ino != inode) continue;
    found = OpenFile{fs::read_symlink(at->path(), error).native(), holds_a_lock(pid, at->path())};
    if (found->holds) break;
  }
  return found;
}

/// Looks through the descriptors of every process that we may look at: once a hang, not more often.
/// One that holds a lock comes before one that has the file open only.
std::optional<int> opened_by(const std::string& path, std::uint64_t inode,
                             std::span<const int> waiting) {
  std::optional<int> opener;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    const auto pid = to_number(at->path().filename().native());
    if (!pid) continue;
    const std::optional<OpenFile> file = opened(inode, *pid);
    if (!file || file->path != path) continue;
    if (file->holds) return pid;
    if (!opener && std::ranges::find(waiting, *pid) == waiting.end()) opener = pid;
  }
  return opener;
}

/// The holder by the kernel's table. It names who took the lock, who may have ended since: `flock
/// 9` in a script leaves it to the script.
std::optional<int> holder_of(std::uint64_t inode, const std::vector<FileLock>& locks) {
  const auto held = std::ranges::find_if(locks, [&](const FileLock& one) {
    return one.inode == inode && !one.waits && one.pid > 0 && opened(inode, one.pid);
  });
  return held == locks.end() ? std::nullopt : std::optional(held->pid);
}

}  // namespace

std::vector<FileLock> parse_proc_locks(std::string_view text) {
  std::vector<FileLock> locks;
  while (!text.empty())
    if (const auto lock = lock_in(take_word(text, '\n'))) locks.push_back(*lock);
  return locks;
}

std::vector<FileLock> read_file_locks() {
  std::ifstream file("/proc/locks");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return parse_proc_locks(text);
}

AwaitedLock lock_at(const std::string& path, const std::vector<FileLock>& locks,
                    std::span<const int> waiting) {
  AwaitedLock lock{.path = path};
  struct ::stat file {};
  if (::stat(path.c_str(), &file) != 0) return lock;
  lock.age = age_of(file);
  lock.holder = holder_of(file.st_ino, locks);
  std::error_code error;
  if (!lock.holder)
    lock.holder = opened_by(fs::weakly_canonical(path, error).native(), file.st_ino, waiting);
  return lock;
}

bool may_wait_for_lock(int pid) {
  return std::ranges::any_of(numbers_in_folder(ProcPath(pid, "task").c_str()), [pid](int tid) {
    const SmallFile call{ProcPath(pid, tid, "syscall")};
    const SmallFile wchan{ProcPath(pid, tid, "wchan")};
    const WaitKind kind = kind_of_wait(call.text(), wchan.text());
    const bool runs = call.text().starts_with("running");
    return !runs && (kind == WaitKind::lock || kind == WaitKind::unknown);
  });
}

std::optional<AwaitedLock> lock_that_blocks(int pid, const std::vector<FileLock>& locks) {
  const auto waits =
      std::ranges::find_if(locks, [&](const FileLock& one) { return one.waits && one.pid == pid; });
  if (waits == locks.end()) return std::nullopt;
  const auto file = opened(waits->inode, pid);
  return file ? std::optional(lock_at(file->path, locks, std::array{pid})) : std::nullopt;
}

}  // namespace safelaunch::host
