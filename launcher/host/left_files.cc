#include "safelaunch/host/left_files.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>

#include "proc_file.h"

namespace safelaunch {
namespace {

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, decltype([](DIR* open) { ::closedir(open); })> open(
      ::opendir(folder.c_str()));
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr)
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  std::ranges::sort(names);
  return names;
}

Duration age_of(std::int64_t written) {
  return std::chrono::seconds(std::max<std::int64_t>(0, ::time(nullptr) - written));
}

// What a mapping shows may no longer be what has the name, or have it elsewhere: in a container.
bool is_of(std::string_view mapping, const LeftFile& file) {
  const std::string identity =
      fmt::format(" {:02x}:{:02x} {} ", major(file.device), minor(file.device), file.inode);
  return mapping.find(identity) != std::string_view::npos;
}

}  // namespace

std::optional<LeftFile> file_at(const std::string& path) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return std::nullopt;
  LeftFile left;
  left.path = path;
  constexpr std::uint64_t kBlock = 512;  // as stat(2) counts; what is not written takes no memory
  left.bytes = static_cast<std::uint64_t>(file.st_blocks) * kBlock;
  left.device = file.st_dev;
  left.inode = file.st_ino;
  left.uid = file.st_uid;
  left.written = file.st_mtim.tv_sec;
  left.age = age_of(left.written);
  return left;
}

SharedMemory read_shared_memory(const std::string& path) {
  SharedMemory memory;
  struct statvfs system {};
  if (::statvfs(path.c_str(), &system) != 0) return memory;
  memory.path = path;
  memory.bytes = std::uint64_t{system.f_blocks} * system.f_frsize;
  memory.available = std::uint64_t{system.f_bavail} * system.f_frsize;
  for (const std::string& name : entries_of(path))
    if (auto file = file_at(path + "/" + name)) memory.files.push_back(std::move(*file));
  return memory;
}

bool is_job_segment(const std::string& path) {
  constexpr std::array<std::string_view, 7> kPrefixes{
      "nccl-", "torch_", "deepspeed_allreduce_buffer_", "psm_", "vllm", "sgl_", "sem.mp-"};
  const auto name = std::string_view(path).substr(path.rfind('/') + 1);
  return std::ranges::any_of(kPrefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

std::vector<LeftFile> mapped_segments(int pid) {
  std::vector<LeftFile> segments;
  const std::string maps = read_whole(ProcPath(pid, "maps").c_str()).value_or("");
  std::string_view rest = maps;
  while (!rest.empty()) {
    const std::string_view line = take_word(rest, '\n');
    const std::size_t at = line.find("/dev/shm/");
    if (at == std::string_view::npos || !is_job_segment(std::string(line.substr(at)))) continue;
    auto file = file_at(std::string(line.substr(at)));
    if (file && is_of(line.substr(0, at), *file)) segments.push_back(std::move(*file));
  }
  return segments;
}

std::string extensions_folder(const Environment& environment) {
  if (const auto folder = value_or(environment, "TORCH_EXTENSIONS_DIR"); !folder.empty())
    return std::string(folder);
  if (const auto cache = value_or(environment, "XDG_CACHE_HOME"); !cache.empty())
    return std::string(cache) + "/torch_extensions";
  const auto home = value_or(environment, "HOME");
  return home.empty() ? "" : std::string(home) + "/.cache/torch_extensions";
}

std::vector<LeftFile> extension_locks(const std::string& folder) {
  // ROOT/NAME/lock where the variable is set, ROOT/py311_cu121/NAME/lock where it is not.
  std::vector<LeftFile> locks;
  for (const std::string& outer : entries_of(folder)) {
    const std::string first = folder + "/" + outer;
    if (auto lock = file_at(first + "/lock")) locks.push_back(std::move(*lock));
    for (const std::string& inner : entries_of(first))
      if (auto lock = file_at(first + "/" + inner + "/lock")) locks.push_back(std::move(*lock));
  }
  return locks;
}

}  // namespace safelaunch
