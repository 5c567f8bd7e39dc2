#include "safelaunch/host/quotas.h"

#include <algorithm>

#include "cgroup_folder.h"
#include "proc_file.h"

namespace safelaunch::host {
namespace {

std::string text_of(const std::string& path) {
  return std::string(SmallFile(path.c_str()).text());
}

/// What one memory cgroup still gives. The page cache counts as used there, but goes when needed.
std::optional<std::uint64_t> left_in(const CgroupFolder& folder, std::uint64_t limit) {
  const auto used = parse_byte_limit(
      text_of(folder.file(folder.unified ? "memory.current" : "memory.usage_in_bytes")));
  if (!used) return std::nullopt;
  const std::string stat = text_of(folder.file("memory.stat"));
  const std::string prefix = folder.unified ? "" : "total_";
  const auto cache = parse_memory_line(stat, prefix + "inactive_file").value_or(0) +
                     parse_memory_line(stat, prefix + "active_file").value_or(0);
  const auto firm = *used - std::min(*used, cache);
  return limit - std::min(limit, firm);
}

void read_memory(const std::string& cgroup, const std::string& mountinfo, Quotas& quotas) {
  quotas.memory_left = parse_memory_line(text_of("/proc/meminfo"), "MemAvailable");
  for (const auto& folder : up_to_root(cgroup_folder("memory", cgroup, mountinfo))) {
    const auto file = folder.file(folder.unified ? "memory.max" : "memory.limit_in_bytes");
    const auto limit = parse_byte_limit(text_of(file));
    if (!limit) continue;
    if (!quotas.memory_limit || *limit < *quotas.memory_limit) {
      quotas.memory_limit = limit;
      quotas.memory_file = file;
    }
    if (const auto left = left_in(folder, *limit))
      quotas.memory_left = std::min(*left, quotas.memory_left.value_or(*left));
  }
}

void read_cpus(const std::string& cgroup, const std::string& mountinfo, Quotas& quotas) {
  for (const auto& folder : up_to_root(cgroup_folder("cpu", cgroup, mountinfo))) {
    const auto cpus =
        parse_cpu_quota(folder.unified ? text_of(folder.file("cpu.max"))
                                       : text_of(folder.file("cpu.cfs_quota_us")) + " " +
                                             text_of(folder.file("cpu.cfs_period_us")));
    if (cpus) quotas.cpus = std::min(*cpus, quotas.cpus.value_or(*cpus));
  }
}

void read_processes(const std::string& cgroup, const std::string& mountinfo, Quotas& quotas) {
  for (const auto& folder : up_to_root(cgroup_folder("pids", cgroup, mountinfo))) {
    const auto most = parse_byte_limit(text_of(folder.file("pids.max")));
    const auto now = parse_byte_limit(text_of(folder.file("pids.current")));
    if (!most || !now) continue;
    const auto left = static_cast<std::int64_t>(*most) - static_cast<std::int64_t>(*now);
    quotas.processes_left = std::min(left, quotas.processes_left.value_or(left));
  }
}

}  // namespace

std::optional<std::uint64_t> parse_byte_limit(std::string_view text) {
  // Version 1 says "no limit" by the largest multiple of a page.
  constexpr std::uint64_t kNone = std::uint64_t{1} << 62;
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto bytes = number_in(text);
  return bytes < kNone ? std::optional(bytes) : std::nullopt;
}

std::optional<double> parse_cpu_quota(std::string_view text) {
  const auto quota = number_in<std::int64_t>(take_word(text));
  const auto period = number_in<std::int64_t>(text);
  if (quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<double>(quota) / static_cast<double>(period);
}

std::optional<std::uint64_t> parse_memory_line(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = take_word(text, '\n');
    std::string_view word = take_word(line);
    const bool kibibytes = word.ends_with(':');
    if (kibibytes) word.remove_suffix(1);
    if (word != name) continue;
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
    return number_in(line) * (kibibytes ? 1024 : 1);
  }
  return std::nullopt;
}

Quotas read_quotas() {
  const std::string cgroup = read_whole("/proc/self/cgroup").value_or("");
  const std::string mountinfo = read_whole("/proc/self/mountinfo").value_or("");
  Quotas quotas;
  read_memory(cgroup, mountinfo, quotas);
  read_cpus(cgroup, mountinfo, quotas);
  read_processes(cgroup, mountinfo, quotas);
  return quotas;
}

}  // namespace safelaunch::host
