#include "pipe_readers.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/process_tree.h"

namespace safelaunch::launch {
namespace {

/// A reader that has not moved for so long does not read.
constexpr Duration kMovesWithin{1'000};

/// The descriptor that Python's resource tracker reads, where the process is one: "from
/// multiprocessing.resource_tracker import main;main(11)" (CPython 3.8 to 3.14).
std::optional<int> read_by_tracker(int pid) {
  constexpr std::string_view kTracker = "multiprocessing.resource_tracker import main;main(";
  for (const std::string& word : host::command_line_of(pid))
    if (const std::size_t at = word.find(kTracker); at != std::string::npos) {
      std::string_view rest = std::string_view(word).substr(at + kTracker.size());
      return take_number(rest);
    }
  return std::nullopt;
}

bool has_writers(int pipe) {
  pollfd end{pipe, POLLIN, 0};
  return ::poll(&end, 1, 0) >= 0 && (end.revents & POLLHUP) == 0;
}

/// The pipe that the process reads.
struct Input {
  std::uint64_t inode = 0;
  bool awaits_more = false;  ///< it holds bytes, or somebody may write to a tracker's
};

UniqueFd open_input(int pid, int descriptor) {
  const auto path = fmt::format("/proc/{}/fd/{}", pid, descriptor);
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

/// Each tracker has a pipe of its own, and has closed it when it begins to remove.
Input input_of_tracker(int pid, int descriptor) {
  constexpr std::uint64_t kNoInode = std::uint64_t{1} << 63U;
  const UniqueFd pipe = open_input(pid, descriptor);
  return {kNoInode | static_cast<std::uint64_t>(pid), pipe && has_writers(pipe.get())};
}

std::optional<Input> piped_input(int pid) {
  if (const auto tracked = read_by_tracker(pid)) return input_of_tracker(pid, *tracked);
  const auto path = fmt::format("/proc/{}/fd/0", pid);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return std::nullopt;
  const UniqueFd pipe = open_input(pid, STDIN_FILENO);
  int bytes = 0;
  const bool holds = pipe && ::ioctl(pipe.get(), FIONREAD, &bytes) == 0 && bytes > 0;
  return Input{status.st_ino, holds};
}

/// Whether one of the process's descriptors is the reading end of a pipe.
bool holds_reading_end(int pid) {
  bool holds = false;
  host::for_each_number(host::ProcPath(pid, "fd").c_str(), [&](int descriptor) {
    const auto path = fmt::format("/proc/{}/fd/{}", pid, descriptor);
    struct stat pipe {
    }, link{};  // the link's own mode tells for what it is open
    holds = holds || (::stat(path.c_str(), &pipe) == 0 && S_ISFIFO(pipe.st_mode) &&
                      ::lstat(path.c_str(), &link) == 0 && (link.st_mode & S_IWUSR) == 0);
  });
  return holds;
}

}  // namespace

void PipeReaders::look(TimePoint now) {
  struct Readers {
    std::vector<int> pids;
    std::uint64_t work = 0;
    bool await_more = false;
  };
  std::map<std::uint64_t, Readers> found;
  const auto ours = piped_input(::getpid());  // written by others than the job
  seen_.clear();
  at_work_.clear();
  for (const host::ProcessFacts& process : host::tree_of(host::self(), host::Procfs())) {
    seen_.insert(process.id.pid);
    const auto input = piped_input(process.id.pid);
    if (!input || process.state == 'Z' || (ours && ours->inode == input->inode)) continue;
    Readers& readers = found[input->inode];
    readers.pids.push_back(process.id.pid);
    readers.work += static_cast<std::uint64_t>(process.cpu.count()) +
                    host::io_bytes_of(process.id.pid).value_or(0);
    readers.await_more = readers.await_more || input->awaits_more;
  }
  for (const auto& [inode, readers] : found) {
    const auto [known, is_new] = pipes_.try_emplace(inode, Pipe{readers.work, now});
    Pipe& pipe = known->second;
    if (readers.await_more || readers.work != pipe.work) pipe = {readers.work, now};
    if (now - pipe.moved < kMovesWithin) at_work_.insert(readers.pids.begin(), readers.pids.end());
  }
}

// A job may be over before the shell that reads its output has made the pipe its stdin, or has
// started its first command.
bool PipeReaders::is_at_work(int pid) const {
  if (at_work_.contains(pid)) return true;
  if (!seen_.contains(pid) && piped_input(pid)) return true;
  const auto stat = host::stat_of(pid);
  constexpr Duration kYouth = host::ExecMoment().youth;
  return stat && host::is_about_to_execute(*stat, host::present_ticks(), kYouth) &&
         holds_reading_end(pid);
}

}  // namespace safelaunch::launch
