#include "pipe_readers.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "safelaunch/base/format.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/process_tree.h"

namespace safelaunch::launch {
namespace {

/// A reader that has not moved for so long does not read.
constexpr Duration kMovesWithin{1'000};

/// The pipe that is the process's stdin, and whether it holds bytes.
struct Stdin {
  std::uint64_t inode = 0;
  bool holds_bytes = false;
};

std::optional<Stdin> piped_stdin(int pid) {
  const auto path = fmt::format("/proc/{}/fd/0", pid);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return std::nullopt;
  const UniqueFd pipe(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  int bytes = 0;
  const bool holds = pipe && ::ioctl(pipe.get(), FIONREAD, &bytes) == 0 && bytes > 0;
  return Stdin{status.st_ino, holds};
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
    bool hold_bytes = false;
  };
  std::map<std::uint64_t, Readers> found;
  const auto ours = piped_stdin(::getpid());  // written by others than the job
  seen_.clear();
  at_work_.clear();
  for (const host::ProcessFacts& process : host::tree_of(host::self(), host::Procfs())) {
    seen_.insert(process.id.pid);
    const auto stdin_pipe = piped_stdin(process.id.pid);
    if (!stdin_pipe || process.state == 'Z' || (ours && ours->inode == stdin_pipe->inode)) continue;
    Readers& readers = found[stdin_pipe->inode];
    readers.pids.push_back(process.id.pid);
    readers.work += static_cast<std::uint64_t>(process.cpu.count()) +
                    host::io_bytes_of(process.id.pid).value_or(0);
    readers.hold_bytes = readers.hold_bytes || stdin_pipe->holds_bytes;
  }
  for (const auto& [inode, readers] : found) {
    const auto [known, is_new] = pipes_.try_emplace(inode, Pipe{readers.work, now});
    Pipe& pipe = known->second;
    if (readers.hold_bytes || readers.work != pipe.work) pipe = {readers.work, now};
    if (now - pipe.moved < kMovesWithin) at_work_.insert(readers.pids.begin(), readers.pids.end());
  }
}

// A job may be over before the shell that reads its output has made the pipe its stdin, or has
// started its first command.
bool PipeReaders::is_at_work(int pid) const {
  if (at_work_.contains(pid)) return true;
  if (!seen_.contains(pid) && piped_stdin(pid)) return true;
  const auto stat = host::stat_of(pid);
  constexpr Duration kYouth = host::ExecMoment().youth;
  return stat && host::is_about_to_execute(*stat, host::present_ticks(), kYouth) &&
         holds_reading_end(pid);
}

}  // namespace safelaunch::launch
