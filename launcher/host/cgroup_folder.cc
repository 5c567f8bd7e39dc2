#include "cgroup_folder.h"

#include <algorithm>

#include "proc_file.h"
#include "safelaunch/host/mounts.h"

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

}  // namespace safelaunch::host
