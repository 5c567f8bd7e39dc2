#include "job_stream.h"

#include <boost/asio/post.hpp>

// A lane gathers the lines of all ranks and writes them once a turn of the event loop, because one
// system call for many lines costs no more than one for a single line. It sets its timer only for a
// line that the LineMux would show or break, so an idle job never wakes us.
namespace safelaunch::output {
namespace {

// A line of one byte grows with its prefix, so the gathered lines of one turn stay below this.
constexpr std::size_t kGatherAtMost = 256 * 1024;

LineMux::Target target_of(const StreamTarget& stream) {
  return stream.kind == StreamTarget::Kind::terminal ? LineMux::Target::terminal
                                                     : LineMux::Target::file;
}

}  // namespace

Lane::Lane(boost::asio::io_context& io, TerminalWriter& terminal, StdStream stream,
           std::function<void()> on_progress)
    : io_(io),
      terminal_(terminal),
      stream_(stream),
      on_progress_(std::move(on_progress)),
      mux_(target_of(terminal.streams()[stream])),
      timer_(io) {}

void Lane::feed(std::size_t source, std::string_view bytes) {
  mux_.feed(source, bytes, Clock::now(), lines_);
  gathered();
}

void Lane::close(std::size_t source) {
  mux_.close(source, Clock::now(), lines_);
  gathered();
}

void Lane::gathered() {
  if (lines_.size() >= kGatherAtMost) return flush();
  if (flush_posted_) return;
  flush_posted_ = true;
  boost::asio::post(io_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->flush();
  });
}

void Lane::flush() {
  flush_posted_ = false;
  if (!lines_.empty()) terminal_.write_job(stream_, lines_);
  lines_.clear();
  terminal_.set_preview(stream_, mux_.preview());
  arm();
}

// The clock stops while the terminal is blocked, so a slow terminal is not mistaken for a slow
// rank. A timer that fires too early finds nothing to do; that is cheaper than to move it each
// time.
void Lane::arm() {
  const auto next = mux_.next_tick();
  if (!next || *next >= armed_ || !terminal_.has_room(stream_)) return;
  armed_ = *next;
  timer_.set(armed_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->tick();
  });
}

void Lane::tick() {
  armed_ = TimePoint::max();
  if (!terminal_.has_room(stream_)) return;
  mux_.tick(Clock::now(), lines_);
  flush();
  on_progress_();
}

void Lane::terminal_flushed() {
  mux_.resume(Clock::now());
  arm();
}
}  // namespace safelaunch::output
