#include "safelaunch/host/proc.h"

#include <sys/stat.h>
#include <time.h>
#include <ctime>

// A process may end between two reads, and a file of /proc may hold less than expected, so every
// reader can return nothing. Only the functions that return a string or a vector use the heap: the
// guardian, and a child between fork and exec, call the others. A look at an environment is
// repeated for a short time, because a process in the middle of an exec shows none, or its
// starter's.
namespace safelaunch::host {
namespace {

bool belongs_to(int fd, unsigned uid) {
  struct stat file {};
  return ::fstat(fd, &file) == 0 && file.st_uid == uid;
}

/// Hands out the fields of a stat line behind the name, numbered as in proc(5).
class StatFields {
 public:
  explicit StatFields(std::string_view behind_name) : rest_(behind_name) {}

  /// The text of field `number`; to be asked in ascending order.
  std::string_view text(int number) {
    std::string_view word;
    for (; next_ <= number; ++next_) word = take_word(rest_);
    return word;
  }

  template <class Number>
  Number number(int field) {
    return number_in<Number>(text(field));
  }

 private:
  std::string_view rest_;
  int next_ = 3;
};

/// Looks for a setting in an environment that comes in pieces, a zero byte behind each variable.
class SettingFinder {
 public:
  explicit SettingFinder(std::string_view setting) : setting_(setting) {}

  void take(std::string_view piece) {
    for (const char c : piece) {
      if (c == '\0') {
        found_ = found_ || matched_ == setting_.size();
        matched_ = 0;
      } else {
        matched_ = matched_ < setting_.size() && setting_[matched_] == c ? matched_ + 1 : kNever;
      }
    }
  }

  [[nodiscard]] bool found() const { return found_; }

 private:
  static constexpr std::size_t kNever = std::string_view::npos;

  std::string_view setting_;
  std::size_t matched_ = 0;
  bool found_ = false;
};

bool has_no_arguments(int pid) {
  return read_pieces(ProcPath(pid, "cmdline"), [](std::string_view) {}) == 0;
}

}  // namespace

bool proc_is_ours() {
  std::array<char, 16> text;
  const ssize_t size = ::readlink("/proc/self", text.data(), text.size());
  return size > 0 && number_in<int>({text.data(), static_cast<std::size_t>(size)}) ==
                         static_cast<int>(::getpid());
}

bool proc_can_be_believed() {
  static const bool ours = proc_is_ours();
  return ours;
}

SmallFile::SmallFile(const char* path) {
  UniqueFd fd(::open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (fd) size_ = ::read(fd.get(), buffer_.data(), buffer_.size());
}

std::string_view SmallFile::text() const {
  std::string_view text(buffer_.data(), size_ > 0 ? static_cast<std::size_t>(size_) : 0);
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

std::optional<std::string> read_whole(const char* path, std::optional<unsigned> owner) {
  UniqueFd fd(::open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!fd || (owner && !belongs_to(fd.get(), *owner))) return std::nullopt;
  std::string text;
  std::array<char, 16384> piece;
  // A short read is not the end: the kernel gives the files of /proc in pieces of its own size.
  for (;;) {
    const auto got = ::read(fd.get(), piece.data(), piece.size());
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
}

std::vector<int> numbers_in_folder(const char* path) {
  std::vector<int> numbers;
  for_each_number(path, [&](int number) { numbers.push_back(number); });
  return numbers;
}

std::optional<ProcStat> parse_proc_stat(std::string_view line) {
  // The name stands in parentheses and may itself contain any of them, so it ends at the last one.
  const auto open = line.find('(');
  const auto close = line.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;

  ProcStat stat;
  stat.pid = number_in<int>(line);
  stat.comm = line.substr(open + 1, close - open - 1);
  StatFields fields(line.substr(close + 2));
  const std::string_view state = fields.text(3);
  if (state.empty()) return std::nullopt;
  stat.state = state.front();
  stat.parent = fields.number<int>(4);
  stat.group = fields.number<int>(5);
  stat.session = fields.number<int>(6);
  stat.terminal = fields.number<int>(7);
  stat.terminal_group = fields.number<int>(8);
  stat.flags = fields.number<std::uint64_t>(9);
  for (int field = 14; field <= 17; ++field)  // utime stime cutime cstime
    stat.cpu_ticks += fields.number<std::uint64_t>(field);
  stat.threads = fields.number<int>(20);
  const std::string_view start = fields.text(22);
  if (start.empty()) return std::nullopt;
  stat.start_ticks = number_in(start);
  stat.pending_signals = fields.number<std::uint64_t>(31);
  stat.wait_status = fields.number<int>(52);
  return stat;
}

std::optional<ProcStat> stat_of(int pid) {
  auto stat = parse_proc_stat(SmallFile(ProcPath(pid, "stat")).text());
  if (stat) stat->comm = {};
  return stat;
}

char state_of(int pid) {
  const auto process = stat_of(pid);
  char state = process ? process->state : '?';
  if (state == 'Z')
    for_each_number(ProcPath(pid, "task").c_str(), [&](int tid) {
      const SmallFile file(ProcPath(pid, tid, "stat"));
      const auto thread = parse_proc_stat(file.text());
      if (thread && thread->state != 'Z') state = thread->state;
    });
  return state;
}

std::uint64_t present_ticks() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const auto a_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return static_cast<std::uint64_t>(now.tv_sec) * a_second +
         static_cast<std::uint64_t>(now.tv_nsec) * a_second / 1'000'000'000;
}

bool is_about_to_execute(const ProcStat& stat, std::uint64_t now_ticks, Duration youth) {
  constexpr std::uint64_t kForkedNotExecuted = 0x40;  // PF_FORKNOEXEC of the kernel's sched.h
  static const auto ticks_a_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  const auto young = static_cast<std::uint64_t>(youth.count()) * ticks_a_second / 1'000;
  return (stat.flags & kForkedNotExecuted) != 0 && now_ticks <= stat.start_ticks + young;
}

bool was_started_with(int pid, std::string_view setting, ExecMoment& moment) {
  constexpr Duration kNap{1};
  for (int tries = 10;;) {
    const auto stat = stat_of(pid);
    if (!stat || stat->state == 'Z') return false;
    // It may hold the lock of its memory, and would keep us waiting too.
    const bool waits = stat->state == 'D';
    SettingFinder finder(setting);
    const std::size_t size =
        waits ? 0 : read_pieces(ProcPath(pid, "environ"), [&](auto piece) { finder.take(piece); });
    if (size > 0 && finder.found()) return true;
    // In the middle of an exec a process has no environment for a moment, and no arguments either,
    // or waits until the disk has brought the program.
    const bool executes = size == 0 && (waits || has_no_arguments(pid));
    if (!executes && !is_about_to_execute(*stat, present_ticks(), moment.youth)) return false;
    if (moment.left >= kNap)
      moment.left -= kNap;
    else if (waits || !executes || --tries == 0)
      return false;
    constexpr timespec kNapTime{0, 1'000'000 * kNap.count()};
    ::nanosleep(&kNapTime, nullptr);
  }
}

bool kernel_lists_children() {
  static const bool lists = ::access("/proc/thread-self/children", R_OK) == 0;
  return lists;
}

}  // namespace safelaunch::host
