#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/time.h"
#include "safelaunch/base/unique_fd.h"

/// The one reader of processes in /proc. A file is opened, read and closed once, since ten thousand
/// processes are read in one go. The functions return no string and no vector unless their comment
/// says so: they work without the heap, in the guardian and between fork and exec.
namespace safelaunch::host {

/// Whether /proc shows our own pid namespace. A /proc that was mounted outside of it (`unshare -p`
/// without --mount-proc, a container that shares its host's /proc) gives the numbers of other
/// processes: nothing in it may be believed, and nobody in it may be signalled.
[[nodiscard]] bool proc_is_ours();

/// The answer of proc_is_ours(), asked once for the whole life of this process.
[[nodiscard]] bool proc_can_be_believed();

/// A path below /proc.
class ProcPath {
 public:
  ProcPath(int pid, std::string_view file) { format("/proc/{}/{}", pid, file); }
  ProcPath(int pid, int tid, std::string_view file) {
    format("/proc/{}/task/{}/{}", pid, tid, file);
  }

  [[nodiscard]] const char* c_str() const { return text_.data(); }

 private:
  template <class... Args>
  void format(fmt::format_string<Args...> pattern, Args&&... args) {
    *fmt::format_to_n(text_.data(), text_.size() - 1, pattern, std::forward<Args>(args)...).out = 0;
  }

  std::array<char, 64> text_;
};

/// The content of a file that fits into a page: stat, wchan, syscall, schedstat, io. A longer file
/// is cut.
class SmallFile {
 public:
  explicit SmallFile(const char* path);
  explicit SmallFile(const ProcPath& path) : SmallFile(path.c_str()) {}

  [[nodiscard]] explicit operator bool() const { return size_ >= 0; }
  [[nodiscard]] std::string_view text() const;  ///< without the last newline; empty if unreadable

 private:
  std::array<char, 4096> buffer_;
  long size_ = -1;
};

/// Calls take(piece) for each piece of a file, and returns the file's size; 0 where it cannot be
/// read. The kernel gives a page at most to one read, whatever the buffer's size.
template <class Take>
std::size_t read_pieces(const ProcPath& path, Take take) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  std::array<char, 4096> piece;
  std::size_t whole = 0;
  for (ssize_t size = 0; (size = ::read(fd.get(), piece.data(), piece.size())) > 0;) {
    take(std::string_view(piece.data(), static_cast<std::size_t>(size)));
    whole += static_cast<std::size_t>(size);
  }
  return whole;
}

/// A file of any length, in a string; nullopt where it cannot be read to its end, or where an owner
/// is given and the file belongs to somebody else. Asking the open file for its owner saves a
/// second walk along the path.
[[nodiscard]] std::optional<std::string> read_whole(const char* path,
                                                    std::optional<unsigned> owner = std::nullopt);

/// Calls take(number) for each entry of a folder whose name is a number: the pids in /proc, the
/// tids in a task folder, descriptors.
template <class Take>
void for_each_number(const char* folder, Take take) {
  const UniqueFd fd(::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  alignas(dirent64) std::array<char, 4096> buffer;
  for (ssize_t size = 0; (size = ::getdents64(fd.get(), buffer.data(), buffer.size())) > 0;) {
    for (ssize_t at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer.data() + at);
      at += entry->d_reclen;
      if (const auto number = to_number(entry->d_name)) take(*number);
    }
  }
}

/// The numbers of for_each_number(), in a vector.
[[nodiscard]] std::vector<int> numbers_in_folder(const char* path);

/// One line of /proc/PID/stat or /proc/PID/task/TID/stat; proc(5) explains the fields.
struct ProcStat {
  int pid = 0;
  std::string_view comm;  ///< points into the line
  char state = '?';       ///< the state of the main thread, as in ps; Z: ended
  int parent = 0;
  int group = 0;
  int session = 0;
  int terminal = 0;        ///< device number of the controlling terminal; 0: none
  int terminal_group = 0;  ///< the foreground process group of that terminal; -1: no terminal
  std::uint64_t flags = 0;
  /// The CPU time of all threads, and of the children that were waited for.
  std::uint64_t cpu_ticks = 0;
  int threads = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t pending_signals = 0;
  int wait_status = 0;  ///< the wait status of a zombie that we may look into; else 0
};

/// Takes a line apart; nullopt where it ends before the start time.
[[nodiscard]] std::optional<ProcStat> parse_proc_stat(std::string_view line);

/// The line of a process, without its name, which would point nowhere; nullopt where the process is
/// gone.
[[nodiscard]] std::optional<ProcStat> stat_of(int pid);

/// The state of a process as in ps. Where the main thread alone has ended, it is the state of
/// another thread; where the process is gone, '?'.
[[nodiscard]] char state_of(int pid);

/// The time that all walks of one stop together give to processes that they meet between their fork
/// and their exec, or in it. The process then still shows its starter's environment, and may ask to
/// be kept by its own. Walks that kill give none: a job that forks without end would outrun them.
struct ExecMoment {
  Duration left{50};
  Duration youth{200};  ///< a process that is older does not mean to execute anything soon
};

/// The time since the boot, in the unit of ProcStat::start_ticks.
[[nodiscard]] std::uint64_t present_ticks();

/// Whether a process was forked so lately that it may be about to execute its own program.
/// `now_ticks` is the present time in the unit of ProcStat::start_ticks.
[[nodiscard]] bool is_about_to_execute(const ProcStat& stat, std::uint64_t now_ticks,
                                       Duration youth);

/// Whether the process was started with a setting ("NAME=VALUE") in its environment. A process that
/// is about to execute its program, or waits for the disk as in the middle of that, is looked at
/// again, as long as the moment lasts. False where the environment cannot be read, or not without
/// the risk of waiting for the process.
[[nodiscard]] bool was_started_with(int pid, std::string_view setting, ExecMoment& moment);

/// Whether the kernel lists children (CONFIG_PROC_CHILDREN).
[[nodiscard]] bool kernel_lists_children();

/// Takes pids, separated by spaces, out of a text that comes in pieces.
template <class Take>
class PidReader {
 public:
  explicit PidReader(Take& take) : take_(take) {}

  void read(std::string_view piece) {
    for (const char c : piece) {
      if (c >= '0' && c <= '9')
        pid_ = pid_ * 10 + (c - '0');
      else
        finish();
    }
  }
  void finish() {
    if (pid_ != 0) take_(pid_);
    pid_ = 0;
  }

 private:
  Take& take_;
  int pid_ = 0;
};

/// Calls take(child) for each child of a process: from the lists of its threads, or, where the
/// kernel has none, from the parents of all processes.
template <class Take>
void for_each_child(int pid, Take take) {
  if (!kernel_lists_children())
    return for_each_number("/proc", [&](int candidate) {
      const auto stat = stat_of(candidate);
      if (stat && stat->parent == pid) take(candidate);
    });
  for_each_number(ProcPath(pid, "task").c_str(), [&](int tid) {
    PidReader<Take> pids(take);
    read_pieces(ProcPath(pid, tid, "children"), [&](std::string_view piece) { pids.read(piece); });
    pids.finish();
  });
}

}  // namespace safelaunch::host
