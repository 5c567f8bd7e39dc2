#include "safelaunch/output/job_output.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>

#include "job_stream.h"
#include "safelaunch/base/alarm.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/trusted_path.h"
#include "safelaunch/output/terminal_writer.h"

// Each stream has a reading end, a recording, a tail, and a way to the terminal: at once
// (Mode::bytes) or through a lane of whole lines. A stream is read only while all of them take
// bytes; otherwise it is parked, so that the writer waits in its pipe and our memory stays bounded.
namespace safelaunch::output {
namespace {

constexpr std::size_t kChunk = 64 * 1024;

// One read of a pseudo-terminal never returns more, however much it holds.
constexpr ssize_t kPtyRead = 4095;

// More than a pipe holds. finish() reads no more of a stream whose writer lives on.
constexpr int kLastChunks = 16;

// Pause after a read of a stream that never stops, so that one read takes many lines. Nobody sees
// this delay; reading each line by itself would cost ten times the CPU.
constexpr auto kRest = std::chrono::microseconds(500);

// What the job has written is lost if one call that fails is taken for the end: a terminal that has
// ended fails again.
ssize_t read_twice(int fd, char* to, std::size_t size) {
  const ssize_t got = ::read(fd, to, size);
  return got < 0 && errno != EAGAIN ? ::read(fd, to, size) : got;
}

std::string prefix_of(Rank rank, OutputPlan::Prefix prefix) {
  constexpr std::array kColours{36, 33, 32, 35, 34, 96};
  switch (prefix) {
    case OutputPlan::Prefix::none: return {};
    case OutputPlan::Prefix::rank: return fmt::format("[rank {}] ", rank.value);
    case OutputPlan::Prefix::coloured_rank:
      return fmt::format("\x1b[{}m[rank {}]\x1b[0m ",
                         kColours[static_cast<std::size_t>(rank.value) % kColours.size()],
                         rank.value);
  }
  return {};
}

const char* suffix_of(StdStream stream) {
  return stream == StdStream::out ? "out" : "err";
}

std::string file_name_of(StreamId id) {
  if (!id.rank) return fmt::format("launcher.{}", suffix_of(id.stream));
  return fmt::format("rank-{}.{}", id.rank->value, suffix_of(id.stream));
}

}  // namespace

/// The state of a JobOutput. Pending handlers hold it by a weak pointer only.
class JobOutput::State : public std::enable_shared_from_this<State> {
 public:
  State(boost::asio::io_context& io, TerminalWriter& terminal, OutputPlan plan, Listener& listener)
      : io_(io),
        terminal_(terminal),
        plan_(std::move(plan)),
        listener_(listener),
        chunk_(std::make_unique<char[]>(kChunk)),
        rest_(io) {}

  void start();
  Result<ChildStreams> open(std::optional<Rank> rank);
  void read_now();
  void finish();
  [[nodiscard]] int terminal() const;
  void window_changed();
  void hide();
  [[nodiscard]] bool drained() const { return drained_; }
  [[nodiscard]] const JobStream* find(StreamId id) const;
  void forget_tails() {
    for (const auto& stream : streams_) stream->tail = Tail();
  }
  [[nodiscard]] std::vector<Recording> recordings() const;
  void flush_lanes();

 private:
  enum class Got { whole_chunk, part_of_chunk, nothing, end };

  void add(StreamId id, UniqueFd read_end);
  void wait(JobStream& stream);
  void read(JobStream& stream);
  Got read_chunk(JobStream& stream);
  void take(JobStream& stream, std::string_view bytes);
  void record(JobStream& stream, std::string_view bytes);
  void tell_if_stopped(JobStream& stream);
  void read_again(JobStream& stream);
  void close(JobStream& stream);
  void rest(JobStream& stream);
  void unpark();
  [[nodiscard]] bool is_taken(const JobStream& stream) const;
  [[nodiscard]] bool disk_is_busy(const JobStream& stream) const;
  void check_drained();
  [[nodiscard]] bool any_open() const;
  [[nodiscard]] int columns_taken() const;

  boost::asio::io_context& io_;
  TerminalWriter& terminal_;
  OutputPlan plan_;
  Listener& listener_;
  std::vector<std::unique_ptr<JobStream>> streams_;
  std::shared_ptr<Lane> out_lane_;  // lines on the way to our stdout; only with Mode::lines
  std::shared_ptr<Lane> err_lane_;  // the same lane where our streams are joined
  std::unique_ptr<char[]> chunk_;
  Alarm rest_;
  std::vector<JobStream*> resting_;
  bool drained_ = false;
};

void JobOutput::State::start() {
  // If this fails, the recordings will say what is wrong.
  if (!plan_.directory.empty()) (void)make_folder(plan_.directory);
  const auto progress = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->unpark();
  };
  if (plan_.mode == OutputPlan::Mode::lines) {
    out_lane_ = std::make_shared<Lane>(io_, terminal_, StdStream::out, progress);
    err_lane_ = terminal_.streams().joined()
                    ? out_lane_
                    : std::make_shared<Lane>(io_, terminal_, StdStream::err, progress);
  }
  terminal_.on_flushed([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    for (const auto& lane : {self->out_lane_, self->err_lane_})
      if (lane) lane->terminal_flushed();
    self->unpark();
    self->check_drained();
  });
}

Result<ChildStreams> JobOutput::State::open(std::optional<Rank> rank) {
  const Joining joining = plan_.mode == OutputPlan::Mode::bytes ? Joining::as_ours : Joining::never;
  auto pair = open_stream_pair(terminal_.streams(), joining, columns_taken());
  if (!pair) return pair.error();
  if (pair->read_out) add({rank, StdStream::out}, std::move(pair->read_out));
  if (pair->read_err) add({rank, StdStream::err}, std::move(pair->read_err));
  if (streams_.empty()) check_drained();
  return ChildStreams{std::move(pair->child_out), std::move(pair->child_err)};
}

void JobOutput::State::add(StreamId id, UniqueFd read_end) {
  auto stream = std::make_unique<JobStream>(id, io_, std::move(read_end));
  if (!plan_.directory.empty()) {
    stream->recording.emplace(plan_.directory / file_name_of(id), plan_.disk);
  }
  stream->shown = !id.rank || plan_.shown.contains(*id.rank);
  stream->lane = id.stream == StdStream::out ? out_lane_ : err_lane_;
  if (stream->lane && id.rank)
    stream->lane_source = stream->lane->add_source(prefix_of(*id.rank, plan_.prefix));
  streams_.push_back(std::move(stream));
  drained_ = false;
  wait(*streams_.back());
}

void JobOutput::State::wait(JobStream& stream) {
  const bool watched = stream.read_end.wait(
      [weak = weak_from_this(), &stream](const boost::system::error_code& aborted) {
        const auto self = weak.lock();
        if (self && !aborted) self->read(stream);
      });
  if (!watched) rest(stream);  // the kernel is out of memory: costly, but nothing is lost
}

void JobOutput::State::read(JobStream& stream) {
  if (!stream.read_end.is_open()) return;
  if (disk_is_busy(stream)) return rest(stream);
  if (!is_taken(stream)) {
    stream.parked = true;
    stream.read_end.ignore();
    return;
  }
  const TimePoint before = std::exchange(stream.last_read, Clock::now());
  switch (read_chunk(stream)) {
    case Got::whole_chunk: read_again(stream); break;
    case Got::part_of_chunk: stream.last_read - before < kRest ? rest(stream) : wait(stream); break;
    case Got::nothing: wait(stream); break;
    case Got::end: close(stream); break;
  }
  unpark();
}

JobOutput::State::Got JobOutput::State::read_chunk(JobStream& stream) {
  std::size_t size = 0;
  ssize_t got = 0;
  do {
    got = read_twice(stream.read_end.fd(), chunk_.get() + size, kChunk - size);
    if (got > 0) size += static_cast<std::size_t>(got);
  } while (got >= kPtyRead && size < kChunk);
  // A pseudo-terminal says EIO when no process has it open any more.
  if (size == 0) return got < 0 && (errno == EAGAIN || errno == EINTR) ? Got::nothing : Got::end;
  take(stream, {chunk_.get(), size});
  return size == kChunk ? Got::whole_chunk : Got::part_of_chunk;
}

void JobOutput::State::take(JobStream& stream, std::string_view bytes) {
  if (stream.recording) record(stream, bytes);
  stream.tail.append(bytes);
  listener_.on_output(stream.id, bytes);
  if (!stream.shown) return;
  if (stream.lane) {
    stream.lane->feed(stream.lane_source, bytes);
  } else {
    terminal_.write_job(stream.id.stream, bytes);
  }
}

void JobOutput::State::record(JobStream& stream, std::string_view bytes) {
  stream.recording->append(bytes);
  tell_if_stopped(stream);
}

void JobOutput::State::tell_if_stopped(JobStream& stream) {
  if (!stream.recording) return;
  if (const auto loss = stream.recording->untold_loss()) listener_.on_recording_stopped(*loss);
}

// Reads on after the others have had their turn, without asking the kernel whether there is more.
void JobOutput::State::read_again(JobStream& stream) {
  boost::asio::post(io_, [weak = weak_from_this(), &stream] {
    if (const auto self = weak.lock()) self->read(stream);
  });
}

void JobOutput::State::rest(JobStream& stream) {
  stream.read_end.ignore();
  resting_.push_back(&stream);
  if (resting_.size() > 1) return;
  rest_.set(Clock::now() + kRest, [this] {
    const auto self = shared_from_this();
    for (JobStream* rested : std::exchange(resting_, {})) read(*rested);
  });
}

void JobOutput::State::close(JobStream& stream) {
  stream.read_end.close();
  tell_if_stopped(stream);
  if (stream.shown && stream.lane) stream.lane->close(stream.lane_source);
  check_drained();
}

// True if the bytes of the stream have somewhere to go now.
bool JobOutput::State::is_taken(const JobStream& stream) const {
  if (!stream.shown) return true;
  return terminal_.has_room(stream.id.stream) &&
         (!stream.lane || stream.lane->accepts(stream.lane_source));
}

// A disk that is slower than the job holds the job up, as it would without us. A disk that is stuck
// does not.
bool JobOutput::State::disk_is_busy(const JobStream& stream) const {
  return plan_.disk != nullptr && stream.recording && !stream.recording->failed() &&
         !plan_.disk->has_room() && !plan_.disk->stuck();
}

void JobOutput::State::unpark() {
  for (const auto& stream : streams_) {
    if (!stream->parked || !is_taken(*stream)) continue;
    stream->parked = false;
    read_again(*stream);
  }
}

void JobOutput::State::read_now() {
  for (const auto& stream : streams_) {
    for (int i = 0; i < kLastChunks && stream->read_end.is_open(); ++i) {
      const Got got = read_chunk(*stream);
      if (got == Got::nothing || got == Got::end) break;
    }
  }
}

void JobOutput::State::finish() {
  read_now();
  for (const auto& stream : streams_)
    if (stream->read_end.is_open()) close(*stream);
}

int JobOutput::State::terminal() const {
  for (const auto& stream : streams_)
    if (!stream->id.rank && ::isatty(stream->read_end.fd()) != 0) return stream->read_end.fd();
  return -1;
}

void JobOutput::State::window_changed() {
  for (const auto& stream : streams_) {
    if (!stream->read_end.is_open()) continue;
    copy_window_size(terminal_.streams()[stream->id.stream].fd, stream->read_end.fd(),
                     columns_taken());
  }
}

void JobOutput::State::hide() {
  for (const auto& stream : streams_) {
    if (stream->shown && stream->lane) stream->lane->close(stream->lane_source);
    stream->shown = false;
  }
  unpark();
}

// The width of the prefix. The greatest rank is not known yet, and one node has at most two digits.
int JobOutput::State::columns_taken() const {
  const bool prefixed = out_lane_ && plan_.prefix != OutputPlan::Prefix::none;
  return prefixed ? static_cast<int>(prefix_of(Rank{10}, OutputPlan::Prefix::rank).size()) : 0;
}

// Tells it from the io_context and not from within, because the listener may destroy us then.
void JobOutput::State::check_drained() {
  boost::asio::post(io_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->drained_) return;
    self->flush_lanes();
    if (!self->terminal_.flushed() || self->any_open()) return;
    self->drained_ = true;
    self->listener_.on_drained();
  });
}

bool JobOutput::State::any_open() const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const auto& stream) { return stream->read_end.is_open(); });
}

void JobOutput::State::flush_lanes() {
  for (const auto& lane : {out_lane_, err_lane_})
    if (lane) lane->flush();
}

const JobStream* JobOutput::State::find(StreamId id) const {
  const auto found = std::find_if(streams_.begin(), streams_.end(),
                                  [&](const auto& stream) { return stream->id == id; });
  return found == streams_.end() ? nullptr : found->get();
}

std::vector<Recording> JobOutput::State::recordings() const {
  std::vector<Recording> recordings;
  for (const auto& stream : streams_)
    if (stream->recording) recordings.push_back(*stream->recording);
  return recordings;
}

JobOutput::JobOutput(boost::asio::io_context& io, TerminalWriter& terminal, OutputPlan plan,
                     Listener& listener)
    : state_(std::make_shared<State>(io, terminal, std::move(plan), listener)) {
  state_->start();
}

JobOutput::~JobOutput() {
  state_->flush_lanes();
}

Result<ChildStreams> JobOutput::open_launcher() {
  return state_->open(std::nullopt);
}

Result<ChildStreams> JobOutput::open_rank(Rank rank) {
  return state_->open(rank);
}

std::string JobOutput::tail(StreamId id) const {
  const JobStream* stream = state_->find(id);
  return stream == nullptr ? std::string() : stream->tail.text();
}

void JobOutput::forget_tails() {
  state_->forget_tails();
}

void JobOutput::window_changed() {
  state_->window_changed();
}

int JobOutput::terminal() const {
  return state_->terminal();
}

void JobOutput::read_now() {
  state_->read_now();
}

void JobOutput::hide() {
  state_->hide();
}

bool JobOutput::drained() const {
  return state_->drained();
}

void JobOutput::finish() {
  state_->finish();
}

std::vector<Recording> JobOutput::recordings() const {
  return state_->recordings();
}

}  // namespace safelaunch::output
