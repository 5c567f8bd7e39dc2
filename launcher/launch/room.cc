#include "safelaunch/launch/room.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <latch>
#include <system_error>
#include <thread>

#include "safelaunch/base/format.h"
#include "safelaunch/base/unique_fd.h"

// What a run needs is taken for a moment and given back. That asks the kernel itself, who knows
// what the processes of this user, a cgroup and the inherited descriptors have taken already.
namespace safelaunch::launch {
namespace {

constexpr rlim_t kStack = 128 * 1024;
constexpr std::size_t kMemory = 24 * 1024 * 1024;
constexpr std::size_t kDescriptors = 18;

/// The thread that writes records, the checks of the host, the job.
constexpr std::size_t kProcesses = 3;
/// Where a user may have as many the three are not tried.
constexpr rlim_t kEnoughProcesses = 64;

rlim_t limit_of(__rlimit_resource resource) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

bool has_memory() {
  void* const block =
      ::mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block != MAP_FAILED && ::munmap(block, kMemory) == 0;
}

bool has_descriptors() {
  std::array<UniqueFd, kDescriptors> taken;
  for (UniqueFd& one : taken) {
    one.reset(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!one) return false;
  }
  return true;
}

bool has_processes() {
  std::latch all_tried(1);
  std::array<std::jthread, kProcesses> taken;
  bool all = true;
  try {
    for (std::jthread& one : taken) one = std::jthread([&all_tried] { all_tried.wait(); });
  } catch (const std::system_error&) {
    all = false;
  }
  all_tried.count_down();
  return all;
}

Error too_small(const std::string& limit, const std::string& need) {
  return {Errc::os, fmt::format("{} leaves safelaunch no room: it needs {}; raise it, or start the "
                                "command without safelaunch",
                                limit, need)};
}

std::string memory_limits() {
  std::string text;
  for (const auto& [resource, option] : {std::pair{RLIMIT_AS, 'v'}, std::pair{RLIMIT_DATA, 'd'}})
    if (const rlim_t limit = limit_of(resource); limit != RLIM_INFINITY)
      text += fmt::format("{}ulimit -{} {}", text.empty() ? "" : " or ", option, limit / 1024);
  return text.empty() ? "the host's memory" : text;
}

}  // namespace

Result<void> check_room() {
  if (const rlim_t stack = limit_of(RLIMIT_STACK); stack < kStack)
    return too_small(fmt::format("ulimit -s {}", stack / 1024), "128 KiB");
  if (!has_memory()) return too_small(memory_limits(), "24 MiB more");
  if (!has_descriptors())
    return too_small(fmt::format("ulimit -n {}", limit_of(RLIMIT_NOFILE)),
                     fmt::format("{} more open files", kDescriptors));
  if (const rlim_t processes = limit_of(RLIMIT_NPROC);
      processes < kEnoughProcesses && !has_processes())
    return too_small(fmt::format("ulimit -u {}", processes),
                     fmt::format("{} more processes or threads", kProcesses));
  return {};
}

}  // namespace safelaunch::launch
