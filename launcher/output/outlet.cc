#include "outlet.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

// An outlet writes as soon as it has bytes. It waits for the descriptor only while bytes are
// pending, and for a line's end only while a message waits for it; so an idle run never wakes up.
namespace safelaunch::output {
namespace {

UniqueFd open_again(int fd) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return UniqueFd(::open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

// True for an error after which no later write to the same stream succeeds.
bool is_final(int error) {
  return error == EPIPE || error == EBADF || error == EIO || error == ECONNRESET;
}

// Four chunks: enough to keep a reader busy, and little memory.
constexpr std::size_t kRoom = 256 * 1024;

// A line that has not gone on for so long is taken for a prompt, which stays as it is.
constexpr Duration kIdleLine{100};

Screen::Kind kind_of(const StreamTarget& target) {
  return target.kind == StreamTarget::Kind::terminal ? Screen::Kind::terminal : Screen::Kind::file;
}

}  // namespace

Sink::Sink(int fd) : fd_(fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    way_ = Way::gone;
  } else if (S_ISSOCK(status.st_mode)) {
    way_ = Way::socket;
  } else if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
    own_ = open_again(fd);
    way_ = own_ ? Way::plain : Way::cautious;
    is_file_ = S_ISCHR(status.st_mode) && ::isatty(fd) == 0;
  } else {
    is_file_ = true;
  }
}

std::size_t Sink::write(std::string_view bytes) {
  std::size_t done = 0;
  while (way_ != Way::gone && done < bytes.size()) {
    const long written = write_some(bytes.substr(done));
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno == EAGAIN) {
      return done;
    } else if (errno != EINTR) {
      if (is_file_ && refusal_ == 0) refusal_ = errno;
      if (!is_final(errno)) break;  // a full disk, perhaps only now: later bytes may not be lost
      way_ = Way::gone;
    }
  }
  lost_ += bytes.size() - done;
  return bytes.size();
}

void Sink::abandon() {
  way_ = Way::gone;
}

long Sink::write_some(std::string_view bytes) const {
  switch (way_) {
    case Way::plain: return ::write(fd(), bytes.data(), bytes.size());
    case Way::socket: return ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    case Way::cautious: {
      // A pipe that is writable takes PIPE_BUF bytes without blocking.
      pollfd waiter{fd_, POLLOUT, 0};
      if (::poll(&waiter, 1, 0) == 1)
        return ::write(fd_, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
      errno = EAGAIN;
      return -1;
    }
    case Way::gone: break;
  }
  errno = EBADF;
  return -1;
}

Outlet::Outlet(boost::asio::io_context& io, const StreamTarget& target,
               std::function<void()> on_flushed)
    : io_(io),
      target_(target),
      on_flushed_(std::move(on_flushed)),
      sink_(target.fd),
      screen_(kind_of(target)),
      idle_(io) {
  window_changed();
}

Outlet::~Outlet() {
  if (reader_) reader_->release();  // the descriptor belongs to the sink
}

void Outlet::write_job(std::string_view bytes) {
  ++job_writes_;
  const std::uint64_t lost_before = sink_.lost();
  if (screen_.is_plain()) {
    screen_.note_job(bytes);
    write(bytes);
  } else {
    std::string composed;
    screen_.job(bytes, composed);
    write(composed);
  }
  if (sink_.lost() > lost_before) lost_of_job_ = true;
}

void Outlet::write_message(std::string_view text) {
  std::string composed;
  screen_.message(text, composed);
  write_composed(composed);
}

void Outlet::write_quote(std::string_view text) {
  std::string composed;
  screen_.quote(text, composed);
  write_composed(composed);
}

void Outlet::write_composed(std::string_view message) {
  write(message);
  if (screen_.message_waits()) wait_for_idle_line();
}

void Outlet::set_preview(std::string_view line) {
  screen_.set_preview(line);
  refresh();
}

void Outlet::set_status(std::string_view line) {
  screen_.set_status(line);
  refresh();
}

void Outlet::window_changed() {
  if (target_.kind != StreamTarget::Kind::terminal) return;
  screen_.set_columns(terminal_columns(target_.fd));
  refresh();
}

// Sends a blocked terminal only the last state of the clock, once it takes bytes again.
void Outlet::refresh() {
  if (!pending_.empty()) return;
  std::string composed;
  screen_.refresh(composed);
  write(composed);
}

LostOutput Outlet::lost() const {
  const int refusal = sink_.refusal();
  return {sink_.lost(), refusal == 0 ? "" : std::strerror(refusal), refusal != 0 && lost_of_job_};
}

bool Outlet::has_room() const {
  return pending_.size() - taken_ < kRoom;
}

void Outlet::write(std::string_view bytes) {
  if (pending_.empty()) bytes.remove_prefix(sink_.write(bytes));
  if (bytes.empty()) return;
  if (taken_ > pending_.size() / 2) pending_.erase(0, std::exchange(taken_, 0));
  pending_ += bytes;
  wait_for_reader();
}

void Outlet::write_pending() {
  taken_ += sink_.write(std::string_view(pending_).substr(taken_));
  if (taken_ < pending_.size()) return;
  pending_.clear();
  taken_ = 0;
}

// Registers the descriptor only while there are bytes to write, since a terminal would wake us at
// each key.
void Outlet::wait_for_reader() {
  if (reader_) return;
  boost::system::error_code failure;
  reader_.emplace(io_);
  reader_->assign(sink_.fd(), failure);
  if (failure) {
    reader_.reset();
    sink_.abandon();
    write_pending();
    return;
  }
  reader_->async_wait(boost::asio::posix::stream_descriptor::wait_write,
                      [weak = weak_from_this()](const boost::system::error_code& aborted) {
                        const auto self = weak.lock();
                        if (self && !aborted) self->reader_is_ready();
                      });
}

void Outlet::reader_is_ready() {
  reader_->release();
  reader_.reset();
  write_pending();
  refresh();
  if (pending_.empty()) {
    on_flushed_();
  } else {
    wait_for_reader();
  }
}

// Breaks the job's line once it has been idle for a while; until then asks again.
void Outlet::wait_for_idle_line() {
  if (idle_armed_) return;
  idle_armed_ = true;
  idle_.set_after(kIdleLine, [weak = weak_from_this(), before = job_writes_] {
    const auto self = weak.lock();
    if (!self) return;
    self->idle_armed_ = false;
    if (!self->screen_.message_waits()) return;
    if (self->job_writes_ == before) {
      self->break_line();
    } else {
      self->wait_for_idle_line();
    }
  });
}

void Outlet::break_line() {
  std::string composed;
  screen_.break_line(composed);
  write(composed);
}

bool Outlet::flush(TimePoint deadline) {
  if (screen_.message_waits()) break_line();
  while (!pending_.empty()) {
    const auto left = std::chrono::duration_cast<Duration>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiter{sink_.fd(), POLLOUT, 0};
    ::poll(&waiter, 1, static_cast<int>(std::min<Duration::rep>(left, 1000)));
    write_pending();
  }
  return true;
}

}  // namespace safelaunch::output
