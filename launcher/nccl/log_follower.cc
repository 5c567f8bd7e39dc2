#include "safelaunch/nccl/log_follower.h"

#include <dirent.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <map>

#include "safelaunch/base/alarm.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/time.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/output/recording.h"

// A file counts from the size that it had when we came, so an older one stays closed until it
// grows; one that has become shorter was begun anew, and counts from its beginning. Whether a
// name is a log of NCCL's is decided by its pattern, one %h at most being tried at every length.
namespace safelaunch::nccl {
namespace {

bool is_stream(std::string_view path) {
  return path == "stdout" || path == "stderr" || path.starts_with("/dev/");
}

/// The part of a name before its first variable, with "%%" read as '%'.
struct Piece {
  std::string text;
  char variable = 0;      ///< 'h' or 'p'; 0 where the name ends here
  std::string_view rest;  ///< the name behind the variable
};

Piece first_piece(std::string_view name) {
  Piece piece;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char next = i + 1 < name.size() ? name[i + 1] : '\0';
    if (name[i] == '%' && (next == 'h' || next == 'p')) {
      piece.variable = next;
      piece.rest = name.substr(i + 2);
      return piece;
    }
    piece.text += name[i];
    if (name[i] == '%' && next == '%') ++i;
  }
  return piece;
}

/// True if the file's name fits the pattern. `hosts` is the number of %h that may still be tried at
/// every length; one is enough, because nobody writes two into a name.
bool fits(std::string_view file, std::string_view name, int hosts) {
  const Piece piece = first_piece(name);
  if (!file.starts_with(piece.text)) return false;
  file.remove_prefix(piece.text.size());
  if (piece.variable == 0) return file.empty();
  if (piece.variable == 'p') {
    std::size_t digits = 0;
    while (digits < file.size() && is_digit(file[digits])) ++digits;
    return digits > 0 && fits(file.substr(digits), piece.rest, hosts);
  }
  if (hosts == 0) return false;
  for (std::size_t length = 1; length <= file.size(); ++length)
    if (fits(file.substr(length), piece.rest, hosts - 1)) return true;
  return false;
}

constexpr std::size_t kMostFiles = 4096;
constexpr std::size_t kLongestLine = 64 << 10;
// At one go, so that a file that grows as fast as we read does not keep everything else waiting.
constexpr std::size_t kAtOnce = 4 << 20;

// The kernel needs 10 to 17 ms to close an inotify descriptor (it waits for an RCU grace period),
// and the job's end waits for it. No NCCL is loaded so soon, so a job that ends before pays
// nothing; nor does one that never has a file where none was expected.
constexpr Duration kListensAfter{200};

struct File {
  UniqueFd fd;  // none yet: the file was there before us, and has not grown since
  off_t read_to = 0;
  std::string begun_line;
  output::Tail tail;
};

bool is_own(const struct stat& facts) {
  return S_ISREG(facts.st_mode) && facts.st_uid == geteuid();
}

/// A regular file of our own; anybody may have put other things into a folder like /tmp.
UniqueFd open_own(const std::filesystem::path& path) {
  Result<UniqueFd> fd = open_user_file(path, Links::refused);
  struct stat facts {};
  if (!fd || fstat(fd->get(), &facts) != 0 || !is_own(facts)) return {};
  return std::move(*fd);
}

std::vector<std::string> names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  DIR* folder = opendir(directory.c_str());
  if (folder == nullptr) return names;
  while (const dirent* entry = readdir(folder)) names.emplace_back(entry->d_name);
  closedir(folder);
  return names;
}

}  // namespace

std::optional<LogFile> parse_nccl_log_file(std::string_view value) {
  if (value.empty() || is_stream(value)) return std::nullopt;
  const std::size_t slash = value.rfind('/');
  if (slash == std::string_view::npos) return LogFile{".", std::string(value)};
  const Piece folder = first_piece(value.substr(0, slash));
  if (folder.variable != 0 || slash + 1 == value.size()) return std::nullopt;
  return LogFile{folder.text.empty() ? "/" : folder.text, std::string(value.substr(slash + 1))};
}

std::string escape_for_nccl(std::string_view directory) {
  std::string text;
  for (const char c : directory) text.append(c == '%' ? 2 : 1, c);
  return text;
}

bool is_nccl_log(std::string_view file, std::string_view name) {
  return fits(file, name, 1);
}

class LogFollower::State : public std::enable_shared_from_this<State> {
 public:
  State(boost::asio::io_context& io, std::filesystem::path directory, Observer observer)
      : io_(io),
        directory_(std::move(directory)),
        observer_(std::move(observer)),
        notices_(io),
        wait_(io) {}

  void begin() {
    for (const std::string& name : names_in(directory_)) follow(name, From::end);
    former_files_ = files_.size();
    after(kListensAfter, [](State& self) {
      if (self.observer_.expects()) return self.listen();
      self.look_for_files(kListensAfter);
    });
  }

  /// Listens as soon as there is a file. Each look comes twice as late as the one before.
  void look_for_files(Duration age) {
    read_now();
    if (stopped_) return;
    if (files_.size() > former_files_) return listen();
    after(age, [age](State& self) { self.look_for_files(age * 2); });
  }

  void listen() {
    if (const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC); fd >= 0) notices_.assign(fd);
    if (!notices_.is_open() ||
        inotify_add_watch(notices_.native_handle(), directory_.c_str(), IN_CREATE) < 0)
      return log_debug("NCCL's log is read at the end only: " + std::string(strerror(errno)));
    for (const auto& [name, file] : files_) watch(name);
    await_notice();
    read_now();
  }

  void read_now() {
    if (stopped_ || reading_) return;
    for (const std::string& name : names_in(directory_)) follow(name, From::beginning);
    for (auto& [name, file] : files_) read(name);
  }

  void stop() {
    stopped_ = true;
    wait_.cancel();
    boost::system::error_code ignored;
    notices_.close(ignored);
  }

  [[nodiscard]] std::vector<Ending> endings() const {
    std::vector<Ending> all;
    for (const auto& [name, file] : files_)
      if (std::string text = file.tail.text(); !text.empty()) all.push_back({name, text});
    return all;
  }

 private:
  enum class From { beginning, end };

  template <class Act>
  void after(Duration wait, Act act) {
    wait_.set_after(wait, [weak = weak_from_this(), act] {
      if (const auto self = weak.lock(); self && !self->stopped_) act(*self);
    });
  }

  void follow(const std::string& name, From from) {
    if (files_.contains(name) || files_.size() >= kMostFiles || !observer_.wanted(name)) return;
    struct stat facts {};
    if (lstat((directory_ / name).c_str(), &facts) != 0 || !is_own(facts)) return;
    files_[name].read_to = from == From::end ? facts.st_size : 0;
    if (notices_.is_open()) watch(name);
  }

  void watch(const std::string& name) {
    const int number =
        inotify_add_watch(notices_.native_handle(), (directory_ / name).c_str(), IN_MODIFY);
    if (number >= 0) watched_[number] = name;
  }

  void await_notice() {
    notices_.async_read_some(
        boost::asio::buffer(notice_),
        [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
          if (error || self->stopped_) return;
          self->on_notices({self->notice_.data(), size});
          if (!self->stopped_) self->await_notice();
        });
  }

  void on_notices(std::string_view bytes) {
    while (bytes.size() >= sizeof(inotify_event)) {
      inotify_event event{};
      std::memcpy(&event, bytes.data(), sizeof event);
      const char* name = bytes.data() + sizeof event;
      bytes.remove_prefix(std::min(sizeof event + event.len, bytes.size()));
      if ((event.mask & IN_Q_OVERFLOW) != 0) return read_now();
      if ((event.mask & IN_CREATE) != 0 && event.len > 0) {
        follow(name, From::beginning);
        read(name);
      } else if (const auto known = watched_.find(event.wd); known != watched_.end()) {
        read(known->second);
      }
      if (stopped_) return;
    }
  }

  void read(const std::string& name) {
    const auto found = files_.find(name);
    if (found == files_.end() || stopped_ || reading_) return;
    if (!open_if_grown(name, found->second)) return;
    reading_ = true;  // a listener may call read_now() from within a line; the rest comes anyway
    const bool more = read_some(name, found->second);
    reading_ = false;
    if (more && !stopped_)
      boost::asio::post(io_, [self = shared_from_this(), name] { self->read(name); });
  }

  /// The logs of former jobs stay closed: there may be more of them than we may open files.
  bool open_if_grown(const std::string& name, File& file) {
    if (file.fd) return true;
    struct stat facts {};
    const auto path = directory_ / name;
    if (lstat(path.c_str(), &facts) == 0 && facts.st_size != file.read_to) file.fd = open_own(path);
    return bool(file.fd);
  }

  /// True where it stopped before the end.
  bool read_some(const std::string& name, File& file) {
    struct stat facts {};
    if (fstat(file.fd.get(), &facts) == 0 && facts.st_size < file.read_to) file.read_to = 0;
    std::array<char, 16 << 10> buffer;
    for (std::size_t taken = 0; taken < kAtOnce && !stopped_;) {
      const ssize_t size = pread(file.fd.get(), buffer.data(), buffer.size(), file.read_to);
      if (size <= 0) return false;
      file.read_to += size;
      taken += static_cast<std::size_t>(size);
      take(name, file, {buffer.data(), static_cast<std::size_t>(size)});
    }
    return true;
  }

  void take(const std::string& name, File& file, std::string_view bytes) {
    file.tail.append(bytes);
    while (!bytes.empty() && !stopped_) {
      const std::size_t end = bytes.find('\n');
      const std::string_view piece = bytes.substr(0, end);
      if (file.begun_line.size() + piece.size() <= kLongestLine) file.begun_line += piece;
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
      observer_.on_line(name, std::exchange(file.begun_line, {}));
    }
  }

  boost::asio::io_context& io_;
  std::filesystem::path directory_;
  Observer observer_;
  boost::asio::posix::stream_descriptor notices_;
  Alarm wait_;  // runs before we listen
  alignas(inotify_event) std::array<char, 16 << 10> notice_{};
  std::map<std::string, File> files_;
  std::size_t former_files_ = 0;  // how many files stood there before
  std::map<int, std::string> watched_;
  bool reading_ = false;
  bool stopped_ = false;
};

LogFollower::LogFollower(boost::asio::io_context& io, std::filesystem::path directory,
                         Observer observer)
    : state_(std::make_shared<State>(io, std::move(directory), std::move(observer))) {
  state_->begin();
}

LogFollower::~LogFollower() {
  state_->stop();
}

void LogFollower::read_now() {
  state_->read_now();
}

void LogFollower::stop() {
  state_->stop();
}

std::vector<LogFollower::Ending> LogFollower::endings() const {
  return state_->endings();
}

}  // namespace safelaunch::nccl
