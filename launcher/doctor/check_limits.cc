#include <algorithm>

#include "checks.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/nccl/version.h"

// Each limit of this process (ulimit) and of its cgroup is compared with what torch, NCCL and CUDA
// are known to need. The numbers stand beside their reasons; a limit that is merely unusual is no
// finding.
namespace safelaunch::doctor {
namespace {

std::string limit_in_words(std::uint64_t limit) {
  return limit == host::kUnlimited ? "unlimited" : rough_size(limit);
}

/// InfiniBand pins hundreds of MiB of buffers, and most systems allow eight.
void check_locked_memory(const HostFacts& facts, Advices& advices) {
  const host::Limit& limit = facts.limits.locked_memory;
  if (facts.infiniband.ports.empty() || limit.soft == host::kUnlimited) return;
  advise(advices, Severity::risk, cause::kIbMemlock,
         fmt::format("ulimit -l allows {} of locked memory (hard limit: {}), and {} is there",
                     limit_in_words(limit.soft), limit_in_words(limit.hard),
                     facts.infiniband.ports.front().device),
         limit.hard == host::kUnlimited
             ? "ulimit -l unlimited"
             : "docker run --ulimit memlock=-1, or memlock in /etc/security/limits.conf");
}

void check_open_files(const HostFacts& facts, Advices& advices) {
  // Distributions give 1024, and that is enough for most jobs.
  constexpr std::uint64_t kUsual = 1024;
  const host::Limit& limit = facts.limits.open_files;
  if (limit.soft >= kUsual) return;
  const auto& command = facts.subject.command;  // one that is known for no ranks needs hardly any
  const bool has_ranks =
      !command || command->launcher != job::Launcher::opaque || facts.subject.spawn;
  advise(advices, has_ranks ? Severity::risk : Severity::note, cause::kOpenFiles,
         fmt::format("ulimit -n allows {} open files (hard limit: {})", limit.soft, limit.hard),
         limit.hard > limit.soft
             ? fmt::format("ulimit -n {}", std::min<std::uint64_t>(limit.hard, 65536))
             : "nofile in /etc/security/limits.conf, LimitNOFILE= of the systemd unit, or docker "
               "run --ulimit nofile=65536");
}

/// NCCL before 2.28 gives its threads stacks of the size that this limit names.
void check_stack(const HostFacts& facts, Advices& advices) {
  if (facts.limits.stack.soft != host::kUnlimited || !facts.libraries ||
      facts.libraries->nccl.empty())
    return;
  const auto version = nccl::parse_nccl_version(facts.libraries->nccl.front().version);
  if (!version || *version >= nccl::Version{2, 28, 0}) return;
  advise(advices, Severity::risk, cause::kStackUnlimited,
         fmt::format("ulimit -s is unlimited, and the job's NCCL is {}", to_string(*version)),
         "ulimit -s 8192");
}

/// A rank of torch has some fifty threads; with a GPU and DataLoader workers it has a hundred more.
void check_processes_limit(const HostFacts& facts, Advices& advices) {
  constexpr std::int64_t kThreadsOfRank = 64;
  const std::int64_t ranks = std::max(1, processes_here(facts.subject).value_or(1));
  const auto left = facts.quotas.processes_left;
  if (!left || *left >= ranks * kThreadsOfRank) return;
  advise(advices, Severity::risk, cause::kThreadLimit,
         fmt::format("the cgroup's pids.max leaves room for {} more threads", *left),
         "docker run --pids-limit=-1, or TasksMax= of the systemd unit");
}

/// A process with torch and CUDA takes more than this before its model is loaded.
void check_memory(const HostFacts& facts, Advices& advices) {
  constexpr std::uint64_t kLeast = std::uint64_t{512} << 20;
  const auto left = facts.quotas.memory_left;
  if (!left || *left >= kLeast) return;
  const bool limited = facts.quotas.memory_limit.has_value();
  advise(advices, Severity::risk, cause::kHostOom,
         limited ? fmt::format("{} of memory is left ({} allows {})", rough_size(*left),
                               facts.quotas.memory_file, rough_size(*facts.quotas.memory_limit))
                 : fmt::format("{} of memory is left (MemAvailable in /proc/meminfo)",
                               rough_size(*left)),
         limited ? "raise the limit, or end other processes there"
                 : "end other processes here: ps -eo rss,pid,user,args --sort=-rss | head");
}

}  // namespace

void check_limits(const HostFacts& facts, Advices& advices) {
  check_locked_memory(facts, advices);
  check_open_files(facts, advices);
  check_stack(facts, advices);
  check_processes_limit(facts, advices);
  check_memory(facts, advices);
}

}  // namespace safelaunch::doctor
