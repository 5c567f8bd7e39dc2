#include "safelaunch/launch/helper.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/launch/child.h"

// A helper's end is told once, and after its last line: when its process has ended, whatever is in
// the pipes by then is read, for a grandchild may hold them open for ever. A helper that outlives
// its deadline is killed, and given up a second later.
namespace safelaunch::launch {
namespace {

using boost::asio::posix::stream_descriptor;

constexpr std::size_t kLongestLine = 64 * 1024;
constexpr std::size_t kKeptErrors = 16 * 1024;
constexpr std::size_t kKeptLines = 10'000;

/// A killed helper has this long to end before it counts as stuck in its driver.
constexpr Duration kKillGrace{1'000};

/// The most that is read from the pipe of a helper that has ended: a grandchild may go on writing
/// for ever.
constexpr std::size_t kMostLeftOver = 1024 * 1024;

/// A pipe or socket pair: our end does not block, the helper's does.
struct Ends {
  UniqueFd ours;
  UniqueFd its;
};

Result<Ends> output_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    return Error{Errc::os, fmt::format("cannot make a pipe: {}", std::strerror(errno))};
  ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return Ends{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

/// A socket for the helper's stdin, since a write to a pipe that nobody reads would send us
/// SIGPIPE.
Result<Ends> input_socket() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
    return Error{Errc::os, fmt::format("cannot make a socket: {}", std::strerror(errno))};
  return Ends{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

/// Takes lines out of pieces of text; a line that is too long is cut.
class LineCutter {
 public:
  template <class Take>
  void add(std::string_view piece, Take take) {
    for (std::size_t end = 0; (end = piece.find('\n')) != std::string_view::npos;) {
      keep(piece.substr(0, end));
      piece.remove_prefix(end + 1);
      take(std::string_view(std::exchange(line_, {})));
    }
    keep(piece);
  }

  template <class Take>
  void finish(Take take) {
    if (!line_.empty()) take(std::string_view(std::exchange(line_, {})));
  }

 private:
  void keep(std::string_view text) { line_.append(text.substr(0, kLongestLine - line_.size())); }

  std::string line_;
};

void keep_end(std::string& text, std::string_view more) {
  text.append(more);
  if (text.size() > kKeptErrors) text.erase(0, text.size() - kKeptErrors);
}

std::string_view last_line(std::string_view text) {
  text = trimmed(text);
  return trimmed(text.substr(text.rfind('\n') + 1));
}

}  // namespace

/// The Helper owns it. Handlers hold it weakly, so that nothing is told for a destroyed helper.
struct Helper::Running : std::enable_shared_from_this<Running> {
  Running(boost::asio::io_context& io, OnLine line, OnEnd ended)
      : on_line(std::move(line)), on_end(std::move(ended)), out(io), err(io), timer(io) {}

  OnLine on_line;
  OnEnd on_end;
  std::optional<Child> child;
  UniqueFd in;
  stream_descriptor out;
  stream_descriptor err;
  boost::asio::steady_timer timer;
  LineCutter lines;
  HelperEnd end;
  bool killed = false;
  std::array<char, 16 * 1024> piece{};

  /// A handler for one of our descriptors or the timer that calls `member` while we live.
  template <class Member>
  auto calling(Member member) {
    return [weak = weak_from_this(), member](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (self && !error) (self.get()->*member)();
    };
  }

  Result<void> start(Reaper& reaper, const HelperSpec& spec);
  void wait_for_output() {
    out.async_wait(stream_descriptor::wait_read, calling(&Running::read_output));
  }
  void wait_for_errors() {
    err.async_wait(stream_descriptor::wait_read, calling(&Running::read_errors));
  }
  void read_output();
  void read_errors();
  std::optional<std::string_view> read_from(stream_descriptor& from);
  template <class Take>
  void drain(stream_descriptor& from, Take take);
  void take_output(std::string_view text);
  void expire_in(Duration from_now);
  void expired();
  void kill();
  void give_up();
  void exited(const ExitStatus& status);
  void tell_end();
  [[nodiscard]] bool over() const { return !on_end; }
};

Result<void> Helper::Running::start(Reaper& reaper, const HelperSpec& spec) {
  auto input = input_socket();
  auto output = output_pipe();
  auto errors = output_pipe();
  for (const auto* pair : {&input, &output, &errors})
    if (!*pair) return pair->error();
  LaunchSpec launch;
  launch.argv = spec.argv;
  launch.environment = spec.environment;
  launch.in = input->its.get();
  launch.out = output->its.get();
  launch.err = errors->its.get();
  auto started = spawn(reaper, launch, [weak = weak_from_this()](const ExitStatus& status) {
    if (const auto self = weak.lock()) self->exited(status);
  });
  if (!started) return started.error();
  child.emplace(std::move(*started));
  in = std::move(input->ours);
  out.assign(output->ours.release());
  err.assign(errors->ours.release());
  wait_for_output();
  wait_for_errors();
  expire_in(spec.deadline);
  return {};
}

/// Reads the text that is there now; nullopt where there is none yet, empty at the end. Asio may
/// call too early: it reuses its states, and may still deliver the news of an old descriptor.
std::optional<std::string_view> Helper::Running::read_from(stream_descriptor& from) {
  const ssize_t size = ::read(from.native_handle(), piece.data(), piece.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  return std::string_view(piece.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
}

void Helper::Running::read_output() {
  const auto text = read_from(out);
  if (text && text->empty()) return;  // the end of the output; the Reaper tells of the helper's end
  if (text) take_output(*text);
  if (!over()) wait_for_output();
}

void Helper::Running::read_errors() {
  const auto text = read_from(err);
  if (text && text->empty()) return;
  if (text) keep_end(end.errors, *text);
  wait_for_errors();
}

void Helper::Running::take_output(std::string_view text) {
  lines.add(text, [this](std::string_view line) {
    if (!over()) on_line(line);
  });
}

void Helper::Running::expire_in(Duration from_now) {
  timer.cancel();
  if (from_now <= Duration::zero()) return;
  timer.expires_after(from_now);
  timer.async_wait(calling(&Running::expired));
}

void Helper::Running::expired() {
  if (killed) return give_up();
  end.timed_out = true;
  kill();
}

void Helper::Running::kill() {
  if (killed || over()) return;
  killed = true;
  child->send_to_group(SIGKILL);
  expire_in(kKillGrace);
}

void Helper::Running::give_up() {
  end.status = std::nullopt;
  tell_end();
}

template <class Take>
void Helper::Running::drain(stream_descriptor& from, Take take) {
  for (std::size_t taken = 0; taken < kMostLeftOver;) {
    const auto text = read_from(from);
    if (!text || text->empty()) return;
    taken += text->size();
    take(*text);
  }
}

/// The helper has ended. Everything that it wrote is in the pipes already.
void Helper::Running::exited(const ExitStatus& status) {
  if (over()) return;
  end.status = status;
  drain(out, [this](std::string_view text) { take_output(text); });
  drain(err, [this](std::string_view text) { keep_end(end.errors, text); });
  lines.finish([this](std::string_view line) {
    if (!over()) on_line(line);
  });
  tell_end();
}

void Helper::Running::tell_end() {
  timer.cancel();
  out.close();
  err.close();
  in.reset();
  if (const OnEnd tell = std::exchange(on_end, nullptr)) tell(end);
}

Helper::Helper(std::shared_ptr<Running> running) : running_(std::move(running)) {}
Helper::Helper(Helper&&) noexcept = default;

Helper& Helper::operator=(Helper&& other) noexcept {
  std::swap(running_, other.running_);
  return *this;
}

Helper::~Helper() {
  if (!running_) return;
  running_->kill();
  running_->on_end = nullptr;
}

Result<Helper> Helper::start(boost::asio::io_context& io, Reaper& reaper, const HelperSpec& spec,
                             OnLine on_line, OnEnd on_end) {
  auto running = std::make_shared<Running>(io, std::move(on_line), std::move(on_end));
  if (const auto started = running->start(reaper, spec); !started) return started.error();
  return Helper(std::move(running));
}

ProcessId Helper::id() const {
  return running_->child->id();
}

void Helper::write_line(std::string_view line) {
  const std::string text = fmt::format("{}\n", line);
  if (running_->in)
    (void)::send(running_->in.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Helper::close_input() {
  running_->in.reset();
}

void Helper::kill() {
  running_->kill();
}

std::string describe(const HelperEnd& end) {
  std::string text = end.timed_out ? "no answer within its time"
                     : end.status  ? describe(*end.status)
                                   : "killed, but its driver does not let it end";
  if (const std::string_view said = last_line(end.errors); !said.empty())
    text += fmt::format(": {}", said);
  return text;
}

Result<HelperOutput> run_helper(const HelperSpec& spec) {
  boost::asio::io_context io;
  Reaper reaper(io, [](int, const ExitStatus&) {});
  HelperOutput output;
  bool ended = false;
  const auto take_line = [&](std::string_view line) {
    if (output.lines.size() < kKeptLines) output.lines.emplace_back(line);
  };
  const auto take_end = [&](const HelperEnd& end) {
    output.end = end;
    ended = true;
  };
  const auto helper = Helper::start(io, reaper, spec, take_line, take_end);
  if (!helper) return helper.error();
  while (!ended) io.run_one();
  return output;
}

}  // namespace safelaunch::launch
