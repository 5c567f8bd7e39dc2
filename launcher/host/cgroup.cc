#include "safelaunch/host/cgroup.h"

#include <sys/resource.h>

#include <algorithm>

#include "safelaunch/host/mounts.h"
#include "safelaunch/host/proc.h"

/// Two texts of /proc name the place of a process: its cgroup, and the mount that shows it. A
/// controller with a hierarchy of its own (version 1) goes before version 2, since on a hybrid host
/// version 2 has no controllers. A limit may stand at any level, so all levels up to the root that
/// we see are read, and the tightest one counts.
namespace safelaunch::host {
namespace {

/// Whether a comma-separated list has the word.
bool lists(std::string_view list, std::string_view word) {
  while (!list.empty())
    if (take_word(list, ',') == word) return true;
  return false;
}

struct CgroupPlace {
  bool unified = true;
  std::string path;
};

/// Version 1 where the controller has a hierarchy of its own there ("4:memory:/a"), else version 2
/// ("0::/a").
CgroupPlace place_in(std::string_view cgroup, std::string_view controller) {
  CgroupPlace place;
  while (!cgroup.empty()) {
    std::string_view line = take_word(cgroup, '\n');
    (void)take_word(line, ':');
    const auto controllers = take_word(line, ':');
    if (lists(controllers, controller)) return {false, std::string(line)};
    if (controllers.empty()) place.path = line;
  }
  return place;
}

bool shows(const Mount& mount, const CgroupPlace& place, std::string_view controller) {
  if (place.unified) return mount.type == "cgroup2";
  return mount.type == "cgroup" && lists(mount.super_options, controller);
}

}  // namespace

std::string CgroupFolder::file(std::string_view name) const {
  return mount + path + "/" + std::string(name);
}

CgroupFolder cgroup_folder(std::string_view controller, std::string_view cgroup,
                           std::string_view mountinfo) {
  const CgroupPlace place = place_in(cgroup, controller);
  if (place.path.empty()) return {};
  for (const Mount& mount : parse_mounts(mountinfo)) {
    if (!shows(mount, place, controller)) continue;
    const std::string root = mount.root == "/" ? "" : mount.root;
    if (!place.path.starts_with(root)) continue;
    std::string path = place.path.substr(root.size());
    if (path == "/") path.clear();
    // "/job" does not show "/job2", and "/../job" is a cgroup outside of our cgroup namespace.
    if ((!path.empty() && path.front() != '/') || path == "/.." || path.starts_with("/../"))
      continue;
    return {place.unified, mount.point, std::move(path)};
  }
  return {};
}

std::vector<CgroupFolder> up_to_root(CgroupFolder folder) {
  std::vector<CgroupFolder> folders;
  if (!folder.found()) return folders;
  for (;;) {
    folders.push_back(folder);
    if (folder.path.empty()) return folders;
    folder.path.resize(folder.path.rfind('/') == std::string::npos ? 0 : folder.path.rfind('/'));
  }
}

namespace {

std::string text_of(const std::string& path) {
  return std::string(SmallFile(path.c_str()).text());
}

/// The bytes that one memory cgroup still gives. The cgroup counts the page cache as used, but the
/// kernel drops it when needed.
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
  const auto bytes = take_number<std::uint64_t>(text);
  return bytes && *bytes < kNone ? bytes : std::nullopt;
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

std::string oom_counter_file(std::string_view cgroup, std::string_view mountinfo) {
  const CgroupFolder folder = cgroup_folder("memory", cgroup, mountinfo);
  if (!folder.found()) return {};
  return folder.file(folder.unified ? "memory.events" : "memory.oom_control");
}

std::optional<std::int64_t> oom_kills_in(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = take_word(text, '\n');
    if (take_word(line) == "oom_kill") return number_in<std::int64_t>(line);
  }
  return std::nullopt;
}

std::optional<std::int64_t> oom_kills_of_our_cgroup() {
  const auto cgroup = read_whole("/proc/self/cgroup");
  const auto mountinfo = read_whole("/proc/self/mountinfo");
  if (!cgroup || !mountinfo) return std::nullopt;
  const std::string file = oom_counter_file(*cgroup, *mountinfo);
  const auto text = file.empty() ? std::nullopt : read_whole(file.c_str());
  return text ? oom_kills_in(*text) : std::nullopt;
}

bool says_frozen(std::string_view text, bool unified) {
  if (!unified) return text.starts_with("FROZEN");
  return text.starts_with("frozen 1") || text.find("\nfrozen 1") != std::string_view::npos;
}

bool is_frozen(int pid) {
  const auto cgroup = read_whole(ProcPath(pid, "cgroup").c_str());
  const auto mounts = read_whole("/proc/self/mountinfo");
  if (!cgroup || !mounts) return false;
  const CgroupFolder folder = cgroup_folder("freezer", *cgroup, *mounts);
  if (!folder.found()) return false;
  const auto* name = folder.unified ? "cgroup.events" : "freezer.state";
  return says_frozen(text_of(folder.file(name)), folder.unified);
}

namespace {

Limit limit_of(__rlimit_resource resource) {
  rlimit values{};
  if (::getrlimit(resource, &values) != 0) return {};
  const auto number = [](rlim_t value) { return value == RLIM_INFINITY ? kUnlimited : value; };
  return {number(values.rlim_cur), number(values.rlim_max)};
}

}  // namespace

ResourceLimits read_limits() {
  return {limit_of(RLIMIT_MEMLOCK), limit_of(RLIMIT_NOFILE), limit_of(RLIMIT_NPROC),
          limit_of(RLIMIT_STACK), limit_of(RLIMIT_CORE)};
}

}  // namespace safelaunch::host
