#include "proc_files.h"

#include <ctime>

namespace safelaunch::launch::proc {
namespace {

/// The fields behind the name, which may itself hold spaces and brackets; numbered as in proc(5).
class Fields {
 public:
  explicit Fields(std::string_view behind_name) : rest_(behind_name) {}

  /// The field `number`; ask in ascending order.
  std::string_view field(int number) {
    std::string_view word;
    for (; next_ <= number; ++next_) {
      const std::size_t space = rest_.find(' ');
      word = rest_.substr(0, space);
      rest_.remove_prefix(space == std::string_view::npos ? rest_.size() : space + 1);
    }
    return word;
  }

  template <class Number>
  Number number(int field_number) {
    const std::string_view word = field(field_number);
    Number value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  }

 private:
  std::string_view rest_;
  int next_ = 3;
};

std::optional<Stat> read_stat(const Path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char line[2048];  // 52 numbers of at most 20 digits and a name
  const ssize_t size = ::read(fd.get(), line, sizeof(line));
  if (size <= 0) return std::nullopt;
  return parse_stat_line({line, static_cast<std::size_t>(size)});
}

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

/// Hands a file over in pieces and returns its size; 0 where it cannot be read.
template <class Take>
std::size_t read_pieces(const Path& path, Take take) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char piece[4096];
  std::size_t whole = 0;
  for (ssize_t size = 0; (size = ::read(fd.get(), piece, sizeof(piece))) > 0;) {
    take(std::string_view(piece, static_cast<std::size_t>(size)));
    whole += static_cast<std::size_t>(size);
  }
  return whole;
}

/// The time since the boot, in the unit of Stat::start_ticks.
std::uint64_t present_ticks() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const auto a_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return static_cast<std::uint64_t>(now.tv_sec) * a_second +
         static_cast<std::uint64_t>(now.tv_nsec) * a_second / 1'000'000'000;
}

}  // namespace

bool is_about_to_execute(const Stat& stat, std::uint64_t now_ticks, Duration youth) {
  static const auto ticks_a_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  const auto young = static_cast<std::uint64_t>(youth.count()) * ticks_a_second / 1'000;
  return stat.runs_its_starters_program && now_ticks <= stat.start_ticks + young;
}

bool was_started_with(int pid, std::string_view setting, ExecMoment& moment) {
  constexpr Duration kNap{1};
  // In the middle of an exec a process has no environment for a moment, and no arguments either.
  for (int tries = 10; tries > 0;) {
    // Its memory may be locked by what it waits for, and would keep us waiting too.
    const auto stat = stat_of(pid);
    if (!stat || stat->state == 'D' || stat->state == 'Z') return false;
    SettingFinder finder(setting);
    const std::size_t size = read_pieces(Path("/proc/{}/environ", pid),
                                         [&](std::string_view piece) { finder.take(piece); });
    if (size > 0 && finder.found()) return true;
    if (is_about_to_execute(*stat, present_ticks(), moment.youth) && moment.left >= kNap) {
      moment.left -= kNap;
    } else {
      if (size > 0) return false;
      if (read_pieces(Path("/proc/{}/cmdline", pid), [](std::string_view) {}) > 0) return false;
      --tries;
    }
    constexpr timespec kNapTime{0, 1'000'000 * kNap.count()};
    ::nanosleep(&kNapTime, nullptr);
  }
  return false;
}

std::optional<Stat> parse_stat_line(std::string_view line) {
  const std::size_t name_end = line.rfind(") ");
  if (name_end == std::string_view::npos) return std::nullopt;
  Fields fields(line.substr(name_end + 2));
  Stat stat;
  stat.state = fields.field(3).front();
  stat.parent = fields.number<int>(4);
  stat.group = fields.number<int>(5);
  stat.terminal_group = fields.number<int>(8);
  constexpr unsigned kForkedNotExecuted = 0x40;  // PF_FORKNOEXEC of the kernel's sched.h
  stat.runs_its_starters_program = (fields.number<unsigned>(9) & kForkedNotExecuted) != 0;
  stat.start_ticks = fields.number<std::uint64_t>(22);
  stat.wait_status = fields.number<int>(52);
  return stat;
}

std::optional<Stat> stat_of(int pid) {
  return read_stat(Path("/proc/{}/stat", pid));
}

char state_of(int pid) {
  const auto process = stat_of(pid);
  char state = process ? process->state : '?';
  if (state == 'Z')
    for_each_number(Path("/proc/{}/task", pid).c_str(), [&](int tid) {
      const auto thread = read_stat(Path("/proc/{}/task/{}/stat", pid, tid));
      if (thread && thread->state != 'Z') state = thread->state;
    });
  return state;
}

}  // namespace safelaunch::launch::proc
