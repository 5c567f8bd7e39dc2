#include "safelaunch/host/process_facts.h"

#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "safelaunch/base/strings.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/redact/redactor.h"

/// A process may vanish between two reads, and its pid may go to another. So every read stands for
/// itself and may fail, and the start time tells whether two reads were of one process. The
/// mappings, whose reading may block, are not read where a thread is in state D.
namespace safelaunch::host {
namespace {

Duration from_ticks(std::uint64_t ticks) {
  static const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return Duration(ticks * 1000 / per_second);
}

std::optional<unsigned> user_of(int pid) {
  struct stat folder {};
  if (::stat(ProcPath(pid, "").c_str(), &folder) != 0) return std::nullopt;
  return folder.st_uid;
}

Duration uptime_now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return Duration(now.tv_sec * 1000 + now.tv_nsec / 1'000'000);
}

/// -1 for every other path.
int gpu_at(std::string_view path) {
  constexpr std::string_view kPrefix = "/dev/nvidia";
  const bool is_gpu = path.starts_with(kPrefix) && path.size() > kPrefix.size() &&
                      path.find_first_not_of("0123456789", kPrefix.size()) == path.npos;
  return is_gpu ? number_in<int>(path.substr(kPrefix.size())) : -1;
}

}  // namespace

std::optional<ProcessFacts> parse_stat(std::string_view line, Duration uptime) {
  const auto stat = parse_proc_stat(line);
  if (!stat) return std::nullopt;
  ProcessFacts facts;
  facts.id = {stat->pid, stat->start_ticks};
  facts.parent = stat->parent;
  facts.group = stat->group;
  facts.session = stat->session;
  facts.terminal = stat->terminal;
  facts.state = stat->state;
  facts.threads = stat->threads;
  facts.comm = stat->comm;
  facts.cpu = from_ticks(stat->cpu_ticks);
  facts.age = std::max(Duration{}, uptime - from_ticks(stat->start_ticks));
  return facts;
}

std::optional<ProcessFacts> facts_of(int pid) {
  if (!proc_can_be_believed()) return std::nullopt;
  const auto uid = user_of(pid);
  if (!uid) return std::nullopt;
  auto facts = parse_stat(SmallFile(ProcPath(pid, "stat")).text(), uptime_now());
  if (facts) facts->uid = *uid;
  return facts;
}

std::optional<ProcessFacts> facts_of(ProcessId id) {
  auto facts = facts_of(id.pid);
  if (facts && facts->id != id) facts.reset();
  return facts;
}

ProcessId self() {
  const auto facts = facts_of(static_cast<int>(::getpid()));
  return facts ? facts->id : ProcessId{static_cast<int>(::getpid()), 0};
}

Life life_of(ProcessId id) {
  if (const auto facts = facts_of(id.pid))
    return facts->id == id && !facts->has_ended() ? Life::running : Life::ended;
  return ::kill(id.pid, 0) != 0 && errno == ESRCH ? Life::ended : Life::hidden;
}

bool is_running(ProcessId id) {
  return life_of(id) == Life::running;
}

bool is_stuck(std::string_view line) {
  constexpr std::uint64_t kExiting = 0x4;  // PF_EXITING
  constexpr std::uint64_t kKill = 1U << (SIGKILL - 1);
  const auto stat = parse_proc_stat(line);
  if (!stat || stat->state != 'D') return false;
  return (stat->flags & kExiting) != 0 || (stat->pending_signals & kKill) != 0;
}

std::optional<std::string> stuck_in(int pid) {
  for (const int tid : numbers_in_folder(ProcPath(pid, "task").c_str())) {
    if (!is_stuck(SmallFile(ProcPath(pid, tid, "stat")).text())) continue;
    const std::string function(SmallFile(ProcPath(pid, tid, "wchan")).text());
    return function == "0" ? "" : function;  // as the kernel says where we may not know
  }
  return std::nullopt;
}

std::vector<std::string> command_line_of(int pid) {
  if (!proc_can_be_believed()) return {};
  std::vector<std::string> words;
  const auto text = read_whole(ProcPath(pid, "cmdline").c_str());
  for (std::string_view rest = text ? std::string_view(*text) : std::string_view(); !rest.empty();)
    words.emplace_back(take_word(rest, '\0'));
  return words;
}

std::string short_command_of(int pid, const std::string& otherwise) {
  constexpr std::size_t kLongest = 60;
  std::vector<std::string> words = command_line_of(pid);
  redact::Redactor redactor;
  redactor.learn(words);
  words = redactor.redact(words);
  std::string text = join(words, " ");
  if (text.size() > kLongest) {  // "python torchrun train.py" tells more than where they lie
    for (std::string& word : words)
      if (word.starts_with('/')) word = std::string(base_name(word));
    text = join(words, " ");
  }
  if (text.empty()) text = otherwise;
  text = printable(text);
  if (text.size() > kLongest) text = std::string(cut(text, kLongest)) + "…";
  return text;
}

std::optional<std::string> raw_environment_of(int pid, std::optional<unsigned> uid) {
  if (!proc_can_be_believed()) return std::nullopt;
  auto text = read_whole(ProcPath(pid, "environ").c_str(), uid);
  if ((text && !text->empty()) || (uid && user_of(pid) != uid)) return text;
  const auto facts = facts_of(pid);
  if (!facts || facts->state != 'Z' || facts->has_ended()) return text;
  // Its main thread has ended, and only the others still know.
  for (const int tid : numbers_in_folder(ProcPath(pid, "task").c_str()))
    if (auto told = read_whole(ProcPath(pid, tid, "environ").c_str(), uid); told && !told->empty())
      return told;
  return text;
}

std::optional<Environment> environment_of(int pid) {
  const auto text = raw_environment_of(pid, std::nullopt);
  if (!text) return std::nullopt;
  Environment environment;
  for (std::string_view rest = *text; !rest.empty();) {
    auto value = take_word(rest, '\0');
    const auto name = take_word(value, '=');
    environment.emplace(name, value);
  }
  return environment;
}

std::optional<std::string_view> variable_in(std::string_view rest, std::string_view wanted) {
  while (!rest.empty()) {
    auto value = take_word(rest, '\0');
    if (take_word(value, '=') == wanted) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> io_bytes_of(int pid) {
  const SmallFile file{ProcPath(pid, "io")};
  if (file.text().empty()) return std::nullopt;
  std::uint64_t bytes = 0;
  for (auto rest = file.text(); !rest.empty();) {
    auto line = take_word(rest, '\n');
    const auto key = take_word(line);
    // read_bytes too: a mapped file that is paged in goes through no read call.
    if (key == "rchar:" || key == "wchar:" || key == "read_bytes:" || key == "write_bytes:")
      bytes += number_in(line);
  }
  return bytes;
}

// The kernel may hold whoever asks for the mappings of a process until a thread of it that sleeps
// uninterruptibly, on a dead file server or in a sick driver, comes back.
std::optional<std::string> maps_of(int pid) {
  for (const int tid : numbers_in_folder(ProcPath(pid, "task").c_str())) {
    const SmallFile stat(ProcPath(pid, tid, "stat"));
    if (stat.text().find(") D ") != std::string_view::npos) return std::nullopt;
  }
  return read_whole(ProcPath(pid, "maps").c_str());
}

bool maps_contain(int pid, std::string_view part) {
  const auto maps = maps_of(pid);
  return maps && maps->find(part) != std::string::npos;
}

std::vector<std::string> thread_names_of(int pid) {
  std::vector<std::string> names;
  for (const int tid : numbers_in_folder(ProcPath(pid, "task").c_str()))
    names.emplace_back(SmallFile(ProcPath(pid, tid, "comm")).text());
  return names;
}

std::string cgroup_of(int pid) {
  return read_whole(ProcPath(pid, "cgroup").c_str()).value_or("");
}

std::optional<std::uint64_t> pid_namespace_of(int pid) {
  struct stat link {};
  if (::stat(ProcPath(pid, "ns/pid").c_str(), &link) != 0) return std::nullopt;
  return link.st_ino;
}

std::vector<int> ancestors_of(int pid) {
  std::vector<int> ancestors;
  for (auto facts = facts_of(pid); facts && facts->parent > 0; facts = facts_of(facts->parent))
    ancestors.push_back(facts->parent);
  return ancestors;
}

std::vector<int> gpus_opened_by(int pid) {
  std::vector<int> gpus;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(ProcPath(pid, "fd").c_str(), error)) {
    const int gpu = gpu_at(std::filesystem::read_symlink(entry.path(), error).native());
    if (gpu >= 0 && std::ranges::find(gpus, gpu) == gpus.end()) gpus.push_back(gpu);
  }
  return gpus;
}

std::vector<std::string> gpu_models() {
  namespace fs = std::filesystem;
  std::vector<std::string> result;
  std::error_code none;
  for (const auto& gpu : fs::directory_iterator("/proc/driver/nvidia/gpus", none)) {
    const SmallFile file((gpu.path() / "information").c_str());
    for (std::string_view text = file.text(); !text.empty();) {
      std::string_view line = take_word(text, '\n');
      if (take_word(line, ':') != "Model") continue;
      if (const auto model = trimmed(line); !model.empty()) result.emplace_back(model);
    }
  }
  return result;
}

}  // namespace safelaunch::host
