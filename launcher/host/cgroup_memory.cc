#include "safelaunch/host/cgroup_memory.h"

#include "cgroup_folder.h"
#include "proc_file.h"

namespace safelaunch::host {

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

}  // namespace safelaunch::host
