#include "safelaunch/host/left_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>

#include "safelaunch/host/proc.h"
#include "safelaunch/host/process_facts.h"

namespace safelaunch::host {
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

// Whether it is a link of another user: in a shared folder it may lead to a file of ours elsewhere.
bool is_foreign_link(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && S_ISLNK(facts.st_mode) &&
         facts.st_uid != ::geteuid() && facts.st_uid != 0;
}

std::int64_t nanoseconds(const statx_timestamp& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

Duration age_of(std::int64_t written) {
  return std::chrono::seconds(std::max<std::int64_t>(0, ::time(nullptr) - written));
}

// ---- names of segments --------------------------------------------------------------------------

bool takes(std::string_view& name, std::string_view beginning) {
  if (!name.starts_with(beginning)) return false;
  name.remove_prefix(beginning.size());
  return true;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hexadecimal(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}

bool is_alphanumeric(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_python_name(char c) {
  return is_alphanumeric(c) || c == '_';
}

bool is_of(std::string_view text, std::size_t size, bool (*kind)(char)) {
  return text.size() == size && std::ranges::all_of(text, kind);
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

/// "71_2_0": so many numbers, and nothing else.
bool are_numbers(std::string_view text, int count) {
  for (; count > 1; --count)
    if (!is_number(take_word(text, '_'))) return false;
  return is_number(text);
}

SegmentMaker only_if(bool fits, SegmentMaker maker) {
  return fits ? maker : SegmentMaker::unknown;
}

// Whether a mapping shows this very file. The name may belong to another file by now, or to a file
// of another container.
bool shows(std::string_view mapping, const LeftFile& file) {
  const std::string identity =
      fmt::format(" {:02x}:{:02x} {} ", major(file.device), minor(file.device), file.inode);
  return mapping.find(identity) != std::string_view::npos;
}

}  // namespace

std::optional<LeftFile> file_at(const std::string& path) {
  struct statx file {};
  constexpr unsigned kAsked = STATX_BASIC_STATS | STATX_BTIME;
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, kAsked, &file) != 0) return std::nullopt;
  if (!S_ISREG(file.stx_mode)) return std::nullopt;
  LeftFile left;
  left.path = path;
  constexpr std::uint64_t kBlock =
      512;  // the unit of stat(2); bytes that were never written take no memory
  left.bytes = file.stx_blocks * kBlock;
  left.device = makedev(file.stx_dev_major, file.stx_dev_minor);
  left.inode = file.stx_ino;
  left.uid = file.stx_uid;
  left.written = file.stx_mtime.tv_sec;
  left.made = nanoseconds((file.stx_mask & STATX_BTIME) != 0 ? file.stx_btime : file.stx_ctime);
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

SegmentMaker maker_of(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (takes(name, "nccl-")) return only_if(is_of(name, 6, is_alphanumeric), SegmentMaker::one_job);
  if (takes(name, "torch_"))  // its process, a random number, a counter
    return only_if(are_numbers(name, 3), SegmentMaker::one_job);
  if (takes(name, "deepspeed_allreduce_buffer_")) {
    const bool numbered = is_number(take_word(name, '_'));
    (void)take_word(name, '_');  // the master's address
    return only_if(numbered && are_numbers(name, 2), SegmentMaker::one_job);
  }
  if (takes(name, "psm_")) return only_if(is_of(name, 8, is_hexadecimal), SegmentMaker::python);
  if (takes(name, "sem.mp-")) return only_if(is_of(name, 8, is_python_name), SegmentMaker::python);
  return only_if(takes(name, "vllm") || takes(name, "sgl_"), SegmentMaker::server);
}

std::vector<LeftFile> named_segments() {
  constexpr std::size_t kMost = 4096;
  const std::string folder = "/dev/shm";
  std::vector<LeftFile> segments;
  for (const std::string& name : entries_of(folder)) {
    if (maker_of(name) == SegmentMaker::unknown) continue;
    if (auto file = file_at(folder + "/" + name)) segments.push_back(std::move(*file));
    if (segments.size() == kMost) break;
  }
  return segments;
}

std::vector<LeftFile> mapped_segments(int pid) {
  std::vector<LeftFile> segments;
  const std::string maps = maps_of(pid).value_or("");
  std::string_view rest = maps;
  while (!rest.empty()) {
    const std::string_view line = take_word(rest, '\n');
    const std::size_t at = line.find("/dev/shm/");
    if (at == std::string_view::npos || maker_of(line.substr(at)) == SegmentMaker::unknown)
      continue;
    auto file = file_at(std::string(line.substr(at)));
    if (file && shows(line.substr(0, at), *file)) segments.push_back(std::move(*file));
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
    if (is_foreign_link(first)) continue;
    if (auto lock = file_at(first + "/lock")) locks.push_back(std::move(*lock));
    for (const std::string& inner : entries_of(first)) {
      const std::string second = first + "/" + inner;
      auto lock = is_foreign_link(second) ? std::nullopt : file_at(second + "/lock");
      if (lock) locks.push_back(std::move(*lock));
    }
  }
  return locks;
}

}  // namespace safelaunch::host
