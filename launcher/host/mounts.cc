#include "safelaunch/host/mounts.h"

#include <algorithm>
#include <array>

#include "safelaunch/host/proc.h"

/// The longest mount point above a path holds it, and of equal ones the last in the table, which
/// was mounted over the others. A line without the separator or without a point is no mount.
namespace safelaunch::host {
namespace {

/// The kernel writes blanks and backslashes in a path as \040 and \134.
std::string unescaped(std::string_view text) {
  constexpr std::size_t kEscape = 4;
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + kEscape <= text.size()) {
      path += static_cast<char>(number_in<unsigned>(text.substr(i + 1, kEscape - 1), 8));
      i += kEscape - 1;
    } else {
      path += text[i];
    }
  }
  return path;
}

/// "36 25 0:30 ROOT POINT options… - TYPE SOURCE super-options"
std::optional<Mount> parse_mount(std::string_view line) {
  for (int skipped = 0; skipped < 3; ++skipped) (void)take_word(line);
  Mount mount;
  mount.root = unescaped(take_word(line));
  mount.point = unescaped(take_word(line));
  constexpr std::string_view kSeparator = " - ";
  const auto separator = line.find(kSeparator);
  if (separator == std::string_view::npos || mount.point.empty()) return std::nullopt;
  line.remove_prefix(separator + kSeparator.size());
  mount.type = take_word(line);
  mount.source = unescaped(take_word(line));
  mount.super_options = line;
  return mount;
}

bool holds(const Mount& mount, std::string_view path) {
  if (mount.point == "/") return path.starts_with('/');
  return path.starts_with(mount.point) &&
         (path.size() == mount.point.size() || path[mount.point.size()] == '/');
}

}  // namespace

std::vector<Mount> parse_mounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  while (!mountinfo.empty())
    if (auto mount = parse_mount(take_word(mountinfo, '\n'))) mounts.push_back(std::move(*mount));
  return mounts;
}

std::vector<Mount> read_mounts() {
  return parse_mounts(read_whole("/proc/self/mountinfo").value_or(""));
}

const Mount* mount_of(std::span<const Mount> mounts, std::string_view path) {
  const Mount* found = nullptr;
  for (const Mount& mount : mounts)
    if (holds(mount, path) && (found == nullptr || mount.point.size() >= found->point.size()))
      found = &mount;
  return found;
}

bool is_network(const Mount& mount) {
  constexpr std::array<std::string_view, 13> kTypes{"nfs",  "nfs4",   "cifs",    "smb3",  "lustre",
                                                    "gpfs", "ceph",   "beegfs",  "pvfs2", "9p",
                                                    "afs",  "wekafs", "virtiofs"};
  return std::ranges::find(kTypes, mount.type) != kTypes.end() || mount.type.starts_with("fuse");
}

}  // namespace safelaunch::host
