#include "safelaunch/host/left_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <map>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/trusted_path.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/process_facts.h"

/// The name of a file only makes it a candidate; device, inode and time of birth say which file it
/// is, and the kernel says whether anybody holds it. A fact that the kernel does not tell is
/// reported as untold, and the room clean then leaves the file alone.
namespace safelaunch::host {
namespace {

std::string_view folder_of(std::string_view path) {
  return path.substr(0, path.rfind('/'));
}

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// A folder that is held open, so that each look goes into the same one.
struct OpenFolder {
  std::string path;
  std::shared_ptr<const UniqueFd> fd;
  unsigned uid = 0;

  [[nodiscard]] std::vector<std::string> entries() const;
  [[nodiscard]] std::optional<LeftFile> file(const std::string& name) const;
};

std::optional<OpenFolder> open_at(const std::string& path) {
  UniqueFd fd = path.empty() ? UniqueFd() : open_folder(path);
  struct stat facts {};
  if (!fd || ::fstat(fd.get(), &facts) != 0) return std::nullopt;
  return OpenFolder{path, std::make_shared<const UniqueFd>(std::move(fd)), facts.st_uid};
}

std::vector<std::string> OpenFolder::entries() const {
  std::vector<std::string> names;
  UniqueFd listed(::openat(fd->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, decltype([](DIR* open) { ::closedir(open); })> open(
      listed ? ::fdopendir(listed.get()) : nullptr);
  if (open) (void)listed.release();
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr)
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  std::ranges::sort(names);
  return names;
}

std::int64_t nanoseconds(const statx_timestamp& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

Duration age_of(std::int64_t written) {
  return std::chrono::seconds(std::max<std::int64_t>(0, ::time(nullptr) - written));
}

std::optional<LeftFile> OpenFolder::file(const std::string& name) const {
  struct statx file {};
  constexpr unsigned kAsked = STATX_BASIC_STATS | STATX_BTIME;
  if (::statx(fd->get(), name.c_str(), AT_SYMLINK_NOFOLLOW, kAsked, &file) != 0)
    return std::nullopt;
  if (!S_ISREG(file.stx_mode)) return std::nullopt;
  LeftFile left;
  left.path = path + (path.ends_with('/') ? "" : "/") + name;
  constexpr std::uint64_t kBlock =
      512;  // the unit of stat(2); bytes that were never written take no memory
  left.bytes = file.stx_blocks * kBlock;
  left.device = makedev(file.stx_dev_major, file.stx_dev_minor);
  left.inode = file.stx_ino;
  left.uid = file.stx_uid;
  left.written = file.stx_mtime.tv_sec;
  left.made = nanoseconds((file.stx_mask & STATX_BTIME) != 0 ? file.stx_btime : file.stx_ctime);
  left.age = age_of(left.written);
  left.folder = fd;
  left.folder_uid = uid;
  return left;
}

// ---- names of segments --------------------------------------------------------------------------

bool takes(std::string_view& name, std::string_view beginning) {
  if (!name.starts_with(beginning)) return false;
  name.remove_prefix(beginning.size());
  return true;
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

constexpr const char* kSegmentFolder = "/dev/shm";

namespace fs = std::filesystem;

bool belongs_to_us(const fs::path& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && facts.st_uid == ::geteuid();
}

/// A pid has a meaning only within its namespace.
Life life_of_owner(const OwnerMark& mark, const HostIdentity& host) {
  return mark.pid_namespace == host.pid_namespace ? life_of(mark.owner) : Life::hidden;
}

std::optional<SegmentRecord> parse_line(std::string_view line, const HostIdentity& host) {
  SegmentRecord record;
  record.device = number_in(take_word(line));
  record.inode = number_in(take_word(line));
  record.made = number_in<std::int64_t>(take_word(line));
  const auto mark = parse_owner_mark(take_word(line));
  if (!mark || mark->boot_id != host.boot_id || line.empty()) return std::nullopt;
  record.owner = life_of_owner(*mark, host);
  record.path = line;
  return record;
}

}  // namespace

std::optional<LeftFile> file_at(const std::string& path) {
  const auto folder = open_at(std::string(folder_of(path)) + "/");
  return folder ? folder->file(std::string(name_of(path))) : std::nullopt;
}

SharedMemory read_shared_memory(const std::string& path) {
  SharedMemory memory;
  struct statvfs system {};
  if (::statvfs(path.c_str(), &system) != 0) return memory;
  memory.path = path;
  memory.bytes = std::uint64_t{system.f_blocks} * system.f_frsize;
  memory.available = std::uint64_t{system.f_bavail} * system.f_frsize;
  if (const auto folder = open_at(path))
    for (const std::string& name : folder->entries())
      if (auto file = folder->file(name)) memory.files.push_back(std::move(*file));
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
  std::vector<LeftFile> segments;
  const auto folder = open_at(kSegmentFolder);
  if (!folder) return segments;
  for (const std::string& name : folder->entries()) {
    if (maker_of(name) == SegmentMaker::unknown) continue;
    if (auto file = folder->file(name)) segments.push_back(std::move(*file));
    if (segments.size() == kMost) break;
  }
  return segments;
}

std::vector<LeftFile> mapped_segments(int pid) {
  std::vector<LeftFile> segments;
  const auto folder = open_at(kSegmentFolder);
  const std::string maps = folder ? maps_of(pid).value_or("") : "";
  std::string_view rest = maps;
  while (!rest.empty()) {
    const std::string_view line = take_word(rest, '\n');
    const std::size_t at = line.find("/dev/shm/");
    if (at == std::string_view::npos || maker_of(line.substr(at)) == SegmentMaker::unknown)
      continue;
    auto file = folder->file(std::string(name_of(line.substr(at))));
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
  const auto look_into = [&](const std::string& path) {
    auto open = open_at(path);
    auto lock = open ? open->file("lock") : std::nullopt;
    if (lock) locks.push_back(std::move(*lock));
    return open;
  };
  const auto root = open_at(folder);
  for (const std::string& outer : root ? root->entries() : std::vector<std::string>()) {
    const auto first = look_into(folder + "/" + outer);
    for (const std::string& inner : first ? first->entries() : std::vector<std::string>())
      (void)look_into(first->path + "/" + inner);
  }
  return locks;
}

// Two questions decide. The kernel is asked whether anybody has the file open or mapped. Where
// nobody has, the processes of our user are counted that may come back to it later.

namespace {

bool is_within(std::string_view target, std::string_view folder) {
  return target.starts_with(folder) &&
         (target.size() == folder.size() || target[folder.size()] == '/');
}

bool is_lock(const std::string& path) {
  return name_of(path) == "lock";
}

/// Whether it is a program into which the kernel lets nobody look, since it once had another user's
/// rights. Every login has one or two; no job runs in them.
bool keeps_a_session(const ProcessFacts& process) {
  constexpr std::array<std::string_view, 9> kNames{"sshd",      "sshd-session", "(sd-pam)",
                                                   "ssh-agent", "su",           "sudo",
                                                   "gpg-agent", "systemd",      "login"};
  return process.id.pid == 1 || std::ranges::find(kNames, process.comm) != kNames.end();
}

/// The target of a link of /proc; empty, with the reason in `error`, where the kernel does not tell
/// it.
class Link {
 public:
  explicit Link(const ProcPath& path) {
    size_ = ::readlink(path.c_str(), buffer_.data(), buffer_.size());
    error_ = size_ < 0 ? errno : 0;
  }
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] std::string_view text() const {
    return {buffer_.data(), size_ > 0 ? static_cast<std::size_t>(size_) : 0};
  }

 private:
  std::array<char, 4096> buffer_;
  long size_ = -1;
  int error_ = 0;
};

/// Looks for processes that have none of the files open, and may come back to one of them.
class Company {
 public:
  explicit Company(const std::vector<LeftFile>& files) : us_(::geteuid()) {
    for (const LeftFile& file : files)
      if (is_lock(file.path)) locks_.push_back(&file);
  }

  void look_at(int pid, FileUse& use) {
    if (!locks_.empty()) note_folder(Link(ProcPath(pid, "cwd")).text(), use);
    const Link program(ProcPath(pid, "exe"));
    if (program.error() == EACCES) return note_closed(pid, use);
    const std::string_view path = program.text();  // empty: a zombie, or a thread of the kernel
    if (path.empty()) return;
    if (use.compiler.empty() && is_compiler(name_of(path)) && is_ours(pid))
      use.compiler = fmt::format("{} (pid {})", name_of(path), pid);
    if (!runs_python(pid, path)) return;
    const auto facts = facts_of(pid);
    if (facts && facts->uid == us_) use.oldest_python = std::max(use.oldest_python, facts->age);
  }

 private:
  /// A build works in the folder of its lock.
  void note_folder(std::string_view folder, FileUse& use) const {
    for (const LeftFile* lock : locks_)
      if (is_within(folder, folder_of(lock->path))) use.used.push_back(lock->path);
  }

  void note_closed(int pid, FileUse& use) const {
    const auto facts = facts_of(pid);
    const bool counts = facts && facts->uid == us_ && !keeps_a_session(*facts);
    if (counts && is_running(facts->id)) ++use.unreadable;
  }

  [[nodiscard]] bool is_ours(int pid) const {
    struct stat folder {};
    return ::stat(ProcPath(pid, "").c_str(), &folder) == 0 && folder.st_uid == us_;
  }

  /// Whether the program is Python by its name, or has Python inside. In the second case all its
  /// processes have it, so a look into one of them is enough: the mappings cost ten times as much
  /// as all the rest.
  bool runs_python(int pid, std::string_view program) {
    const std::string_view name = name_of(program);
    if (name.starts_with("python") || name.starts_with("pypy")) return true;
    const auto known = embeds_python_.find(program);
    if (known != embeds_python_.end()) return known->second;
    if (!is_ours(pid)) return false;
    return embeds_python_.emplace(program, maps_contain(pid, "/libpython")).first->second;
  }

  unsigned us_;
  std::vector<const LeftFile*> locks_;
  std::map<std::string, bool, std::less<>> embeds_python_;
};

constexpr long kZfs = 0x2fc12fc1;  // no header of the kernel has it

/// Opens the file again; empty where it is not the one that was seen.
UniqueFd open_again(const LeftFile& file) {
  if (!file.folder) return {};
  constexpr int kHow = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  UniqueFd fd(::openat(file.folder->get(), std::string(name_of(file.path)).c_str(), kHow));
  struct stat now {};
  if (fd && (::fstat(fd.get(), &now) != 0 || now.st_dev != file.device || now.st_ino != file.inode))
    fd.reset();
  return fd;
}

/// Whether the file lies on a file system of this host alone. On a network the kernel of another
/// host may know a holder that ours does not know, and some network file systems leave leases to
/// each kernel alone. The path does not tell, since it may lead over links.
bool is_on_this_host(int fd) {
  constexpr std::array<long, 8> kLocal{
      TMPFS_MAGIC,           EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
      OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, RAMFS_MAGIC,     kZfs};
  struct statfs system {};
  return ::fstatfs(fd, &system) == 0 &&
         std::ranges::find(kLocal, static_cast<long>(system.f_type)) != kLocal.end();
}

}  // namespace

Result<void> still_the_same(const LeftFile& file) {
  const std::string name(name_of(file.path));
  struct stat now {};
  if (!file.folder || ::fstatat(file.folder->get(), name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0)
    return Error{Errc::os, "was gone already"};
  if (now.st_dev != file.device || now.st_ino != file.inode || !S_ISREG(now.st_mode))
    return Error{Errc::os, "left alone: another file has its name by now"};
  if (now.st_mtim.tv_sec != file.written)
    return Error{Errc::os, "left alone: a process wrote to it just now"};
  return {};
}

bool remove_from_folder(const LeftFile& file) {
  return ::unlinkat(file.folder->get(), std::string(name_of(file.path)).c_str(), 0) == 0;
}

Holder holder_of(const LeftFile& file) {
  const UniqueFd fd = open_again(file);
  if (!fd || !is_on_this_host(fd.get())) return Holder::untold;
  // If somebody opens the file while we have the lease, the kernel sends us a signal. The default
  // is SIGIO, which would kill us, so we ask for another.
  ::fcntl(fd.get(), F_SETSIG, SIGURG);
  if (::fcntl(fd.get(), F_SETLEASE, F_WRLCK) == 0) {
    ::fcntl(fd.get(), F_SETLEASE, F_UNLCK);
    return Holder::nobody;
  }
  return errno == EAGAIN ? Holder::somebody : Holder::untold;
}

// "1: FLOCK  ADVISORY  WRITE 4711 fe:00:2204541 0 EOF"; who waits for it has "->" before the kind.
std::optional<int> locked_by(const LeftFile& file) {
  const std::string place =
      fmt::format(" {:02x}:{:02x}:{} ", major(file.device), minor(file.device), file.inode);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    const std::size_t at = line.find(place);
    if (at == std::string::npos || line.find(": FLOCK ") == std::string::npos) continue;
    const std::size_t word = line.rfind(' ', at - 1) + 1;
    return to_number<int>(std::string_view(line).substr(word, at - word));
  }
  return std::nullopt;
}

FileUse use_of(const std::vector<LeftFile>& files) {
  FileUse use;
  for (const LeftFile& file : files) {
    const Holder holder = holder_of(file);
    if (holder == Holder::somebody) use.used.push_back(file.path);
    if (holder == Holder::untold) use.untold.push_back(file.path);
  }
  if (use.used.size() == files.size()) return use;
  Company company(files);
  for (const int pid : numbers_in_folder("/proc")) company.look_at(pid, use);
  return use;
}

bool is_of(const SegmentRecord& record, const LeftFile& file) {
  return record.path == file.path && record.device == file.device && record.inode == file.inode &&
         record.made == file.made;
}

std::string segment_lines(std::span<const LeftFile> segments, std::string_view mark) {
  std::string lines;
  for (const LeftFile& file : segments)
    if (file.path.find('\n') == std::string::npos)  // such a name would write lines of its own
      lines += fmt::format("{} {} {} {} {}\n", file.device, file.inode, file.made, mark, file.path);
  return lines;
}

std::vector<SegmentRecord> parse_segment_lines(std::string_view text, const std::string& run,
                                               const HostIdentity& host) {
  std::vector<SegmentRecord> records;
  while (!text.empty()) {
    auto record = parse_line(take_word(text, '\n'), host);
    if (!record) continue;
    record->run = run;
    records.push_back(std::move(*record));
  }
  return records;
}

std::vector<SegmentRecord> read_segment_records(std::span<const fs::path> places,
                                                const HostIdentity& host) {
  std::vector<SegmentRecord> records;
  std::error_code none;
  for (const fs::path& place : places) {
    if (!belongs_to_us(place)) continue;
    for (const auto& run : fs::directory_iterator(place, none)) {
      const fs::path file = run.path() / kSegmentRecordFile;
      if (!belongs_to_us(run.path()) || !belongs_to_us(file)) continue;
      const Result<std::string> text = read_user_file(file, kMostOfUserFile, Links::refused);
      if (!text) continue;
      for (auto& record : parse_segment_lines(*text, run.path().filename(), host))
        records.push_back(std::move(record));
    }
  }
  return records;
}

}  // namespace safelaunch::host
