#include "safelaunch/host/cgroup_memory.h"

#include <algorithm>

#include "proc_file.h"

namespace safelaunch {
namespace {

/// Whether a comma-separated list has the word.
bool lists(std::string_view list, std::string_view word) {
  while (!list.empty())
    if (take_word(list, ',') == word) return true;
  return false;
}

void skip_words(std::string_view& text, int count) {
  while (count-- > 0) static_cast<void>(take_word(text));
}

/// Where a process stands in the hierarchy of the memory controller.
struct Place {
  bool unified = true;  ///< version 2: one hierarchy for all controllers
  std::string path;
};

/// Version 1 where the controller has a hierarchy of its own there ("4:memory:/a"), else version 2
/// ("0::/a").
Place place_in(std::string_view cgroup) {
  Place place;
  while (!cgroup.empty()) {
    std::string_view line = take_word(cgroup, '\n');
    (void)take_word(line, ':');
    const auto controllers = take_word(line, ':');
    if (lists(controllers, "memory")) return {false, std::string(line)};
    if (controllers.empty()) place.path = line;
  }
  return place;
}

/// The folder of a cgroup below a mount whose root is `root`; nullopt where the mount does not show
/// it.
std::optional<std::string> folder_of(std::string_view path, std::string_view root,
                                     std::string_view mount) {
  if (root == "/") root = "";
  if (!path.starts_with(root)) return std::nullopt;
  return std::string(mount) + std::string(path.substr(root.size()));
}

}  // namespace

std::string oom_counter_file(std::string_view cgroup, std::string_view mountinfo) {
  const Place place = place_in(cgroup);
  if (place.path.empty()) return {};
  while (!mountinfo.empty()) {
    std::string_view line = take_word(mountinfo, '\n');
    // "36 25 0:30 ROOT MOUNT options… - TYPE SOURCE super-options"
    skip_words(line, 3);
    const auto root = take_word(line);
    const auto mount = take_word(line);
    line.remove_prefix(std::min(line.size(), line.find(" - ") + 3));
    const auto type = take_word(line);
    (void)take_word(line);
    const bool fits = place.unified ? type == "cgroup2" : type == "cgroup" && lists(line, "memory");
    if (!fits) continue;
    if (const auto folder = folder_of(place.path, root, mount))
      return *folder + (place.unified ? "/memory.events" : "/memory.oom_control");
  }
  return {};
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

}  // namespace safelaunch
