#include "safelaunch/host/identity.h"

#include <dirent.h>
#include <pwd.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/process_facts.h"

/// A mark proves something only if it is whole, so a mark that is read must be exactly as it would
/// be written: a number with another spelling, or one part more or less, makes it no mark.
namespace safelaunch::host {
namespace {

std::vector<int> allowed_cpus() {
  // Sized for 8192 CPUs: the plain cpu_set_t ends at 1024, and the call fails on a larger host.
  std::array<cpu_set_t, 8> set{};
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, set.data()) != 0) return cpus;
  for (int cpu = 0; cpu < static_cast<int>(sizeof set * 8); ++cpu)
    if (CPU_ISSET_S(static_cast<unsigned>(cpu), sizeof set, set.data())) cpus.push_back(cpu);
  return cpus;
}

std::size_t entries_in(const char* path, bool (*counts)(std::string_view)) {
  std::size_t count = 0;
  DIR* folder = ::opendir(path);
  if (folder == nullptr) return 0;
  while (const dirent* entry = ::readdir(folder)) count += counts(entry->d_name) ? 1 : 0;
  ::closedir(folder);
  return count;
}

/// /dev shows the devices of our container, /proc/driver those of the whole host: so /dev decides.
int count_gpu_devices() {
  const auto is_device = [](std::string_view name) {
    constexpr std::string_view kPrefix = "nvidia";
    return name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
           std::ranges::all_of(name.substr(kPrefix.size()),
                               [](char c) { return c >= '0' && c <= '9'; });
  };
  const auto is_card = [](std::string_view name) { return !name.starts_with('.'); };
  const auto devices = entries_in("/dev", is_device);
  return static_cast<int>(devices > 0 ? devices : entries_in("/proc/driver/nvidia/gpus", is_card));
}

bool exists(const char* path) {
  return ::access(path, F_OK) == 0;
}

std::vector<std::vector<int>> read_numa_nodes() {
  std::vector<std::vector<int>> nodes;
  for (const int number : parse_number_list(SmallFile("/sys/devices/system/node/online").text())) {
    const auto path = fmt::format("/sys/devices/system/node/node{}/cpulist", number);
    nodes.push_back(parse_number_list(SmallFile(path.c_str()).text()));
  }
  return nodes;
}

/// Reads a whole number with nothing behind it; false for any other text.
template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto read = to_number<Number>(text);
  if (read) number = *read;
  return read.has_value();
}

template <class Number>
bool parse_positive(std::string_view text, Number& number) {
  return parse_number(text, number) && number > 0;
}

/// Reads "1.3,71.4711"; the text is empty for an owner whose parents were hidden.
bool parse_processes(std::string_view text, std::vector<ProcessId>& processes) {
  while (!text.empty()) {
    auto word = take_word(text, ',');
    ProcessId process;
    const bool whole = parse_positive(take_word(word, '.'), process.pid) &&
                       parse_number(word, process.start_ticks);
    if (!whole) return false;
    processes.push_back(process);
  }
  return true;
}

}  // namespace

std::vector<int> parse_number_list(std::string_view text) {
  std::vector<int> numbers;
  while (!text.empty()) {
    auto range = take_word(text, ',');
    if (range.empty() || range.front() < '0' || range.front() > '9') break;
    const int first = number_in<int>(take_word(range, '-'));
    const int last = range.empty() ? first : number_in<int>(range);
    constexpr int kMost = 1 << 16;  // no kernel has more CPUs or nodes
    for (int number = first; number <= std::min(last, kMost); ++number) numbers.push_back(number);
  }
  return numbers;
}

std::string boot_id_of(std::string_view boot, std::string_view time_namespace) {
  constexpr std::string_view kHosts =
      "time:[4026531834]";  // the first one's inode, PROC_TIME_INIT_INO
  const bool usual = time_namespace.empty() || time_namespace == kHosts;
  return usual ? std::string(boot) : fmt::format("{}/{}", boot, time_namespace.substr(5));
}

std::string read_boot_id() {
  std::array<char, 64> link{};  // kernels before 5.6 have no such link
  const ssize_t size = ::readlink("/proc/self/ns/time", link.data(), link.size());
  return boot_id_of(SmallFile("/proc/sys/kernel/random/boot_id").text(),
                    {link.data(), size > 0 ? static_cast<std::size_t>(size) : 0});
}

std::string user_name(unsigned uid) {
  std::array<char, 1024> buffer;
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? found->pw_name : fmt::format("{}", uid);
}

std::string read_hostname() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

bool has_gpu_device() {
  return count_gpu_devices() > 0 || exists("/dev/nvidiactl") || exists("/dev/kfd") ||
         exists("/dev/dxg");
}

bool sees_all_processes(const HostIdentity& host) {
  // The number of the kernel's first pid namespace is the same on every host.
  constexpr std::uint64_t kFirst = 0xEFFFFFFC;
  return host.pid_namespace == kFirst;
}

HostIdentity read_identity() {
  HostIdentity host;
  host.hostname = read_hostname();
  host.boot_id = read_boot_id();
  host.pid_namespace = pid_namespace_of(static_cast<int>(::getpid())).value_or(0);
  host.uid = ::geteuid();
  host.cpus = allowed_cpus();
  host.gpu_devices = count_gpu_devices();
  host.numa_nodes = read_numa_nodes();
  return host;
}

std::uint64_t cgroups_key(std::string_view lines) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : lines) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash == 0 ? 1 : hash;
}

std::string to_string(const OwnerMark& mark) {
  std::string text = fmt::format("{}:{}:{}:{}:{}:{}:", mark.boot_id, mark.pid_namespace, mark.uid,
                                 mark.owner.pid, mark.owner.start_ticks, mark.cgroups);
  for (const ProcessId& process : mark.above)
    text +=
        fmt::format("{}{}.{}", text.ends_with(':') ? "" : ",", process.pid, process.start_ticks);
  return text;
}

std::optional<OwnerMark> parse_owner_mark(std::string_view text) {
  const std::string_view all = text;
  OwnerMark mark;
  mark.boot_id = take_word(text, ':');
  const bool whole =
      !mark.boot_id.empty() && parse_positive(take_word(text, ':'), mark.pid_namespace) &&
      parse_number(take_word(text, ':'), mark.uid) &&
      parse_positive(take_word(text, ':'), mark.owner.pid) &&
      parse_positive(take_word(text, ':'), mark.owner.start_ticks) &&
      parse_positive(take_word(text, ':'), mark.cgroups) && parse_processes(text, mark.above);
  if (!whole || to_string(mark) != all) return std::nullopt;
  return mark;
}

std::string owner_mark(ProcessId owner) {
  OwnerMark mark{read_boot_id(),
                 pid_namespace_of(owner.pid).value_or(0),
                 owner,
                 cgroups_key(cgroup_of(owner.pid)),
                 {},
                 ::geteuid()};
  for (const int pid : ancestors_of(owner.pid))
    if (const auto facts = facts_of(pid)) mark.above.push_back(facts->id);
  return to_string(mark);
}

}  // namespace safelaunch::host
