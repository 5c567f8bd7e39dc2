#include <algorithm>

#include "checks.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/host/words.h"
#include "safelaunch/nccl/version.h"

namespace safelaunch::doctor {
namespace {

std::string limit_in_words(std::uint64_t limit) {
  return limit == host::kUnlimited ? "unlimited" : host::rough_size(limit);
}

/// InfiniBand pins its buffers: hundreds of MiB, where most systems allow eight.
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
  constexpr std::uint64_t kUsual = 1024;  // what distributions give, and enough for most
  const host::Limit& limit = facts.limits.open_files;
  if (limit.soft >= kUsual) return;
  advise(advices, Severity::risk, cause::kOpenFiles,
         fmt::format("ulimit -n allows {} open files (hard limit: {})", limit.soft, limit.hard),
         fmt::format("ulimit -n {}", std::min<std::uint64_t>(limit.hard, 65536)));
}

/// NCCL before 2.28 copies the size of the stack for its threads.
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

/// A rank of torch has some fifty threads, with a GPU and DataLoader workers a hundred more.
void check_processes_limit(const HostFacts& facts, Advices& advices) {
  constexpr std::int64_t kThreadsOfRank = 64;
  const std::int64_t ranks = std::max(1, processes_here(facts.subject).value_or(1));
  const auto left = facts.quotas.processes_left;
  if (!left || *left >= ranks * kThreadsOfRank) return;
  advise(advices, Severity::risk, cause::kThreadLimit,
         fmt::format("the cgroup's pids.max leaves room for {} more threads", *left),
         "docker run --pids-limit=-1, or TasksMax= of the systemd unit");
}

/// A process with torch and CUDA takes more than this before the model is there.
void check_memory(const HostFacts& facts, Advices& advices) {
  constexpr std::uint64_t kLeast = std::uint64_t{512} << 20;
  const auto left = facts.quotas.memory_left;
  if (!left || *left >= kLeast) return;
  const bool limited = facts.quotas.memory_limit.has_value();
  advise(advices, Severity::risk, cause::kHostOom,
         limited
             ? fmt::format("{} of memory is left ({} allows {})", host::rough_size(*left),
                           facts.quotas.memory_file, host::rough_size(*facts.quotas.memory_limit))
             : fmt::format("{} of memory is left (MemAvailable in /proc/meminfo)",
                           host::rough_size(*left)),
         limited ? "raise the limit, or end what else runs there"
                 : "end what else runs here: ps -eo rss,pid,user,args --sort=-rss | head");
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
