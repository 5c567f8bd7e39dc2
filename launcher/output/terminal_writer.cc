#include "safelaunch/output/terminal_writer.h"

#include "outlet.h"

// Each of our streams has an Outlet, or both have one together where they lead to the same place,
// since only that keeps the order between them. Our own words pass the filter that takes secrets
// out; the job's bytes never do, because they must not change.
namespace safelaunch::output {

struct TerminalWriter::State {
  StandardStreams streams;
  std::function<void()> on_flushed;
  std::shared_ptr<Outlet> out;
  std::shared_ptr<Outlet> err;  // the same outlet as `out` where both lead to one place

  // For our own words; none: they stay as they are.
  std::function<std::string(std::string_view)> filter;

  [[nodiscard]] std::string filtered(std::string_view text) const {
    return filter ? filter(text) : std::string(text);
  }
  [[nodiscard]] Outlet& operator[](StdStream stream) const {
    return stream == StdStream::out ? *out : *err;
  }
};

TerminalWriter::TerminalWriter(boost::asio::io_context& io, const StandardStreams& streams)
    : state_(std::make_unique<State>()) {
  const auto flushed = [state = state_.get()] {
    if (state->on_flushed) state->on_flushed();
  };
  state_->streams = streams;
  state_->out = std::make_shared<Outlet>(io, streams.out, flushed);
  state_->err = streams.joined() ? state_->out : std::make_shared<Outlet>(io, streams.err, flushed);
}

TerminalWriter::~TerminalWriter() {
  set_status({});
}

void TerminalWriter::write_job(StdStream stream, std::string_view bytes) {
  (*state_)[stream].write_job(bytes);
}

void TerminalWriter::set_preview(StdStream stream, std::string_view line) {
  (*state_)[stream].set_preview(line);
}

void TerminalWriter::set_status(std::string_view line) {
  state_->err->set_status(state_->filtered(line));
}

void TerminalWriter::write_message(std::string_view text) {
  state_->err->write_message(state_->filtered(text));
}

void TerminalWriter::write_quote(std::string_view text) {
  state_->err->write_quote(state_->filtered(text));
}

void TerminalWriter::write_redacted(std::string_view text) {
  state_->err->write_quote(text);
}

void TerminalWriter::set_ink(bool colour) {
  state_->err->set_ink(colour);
}

void TerminalWriter::filter_messages(std::function<std::string(std::string_view)> filter) {
  state_->filter = std::move(filter);
}

void TerminalWriter::window_changed() {
  state_->out->window_changed();
  if (state_->err != state_->out) state_->err->window_changed();
}

bool TerminalWriter::has_room(StdStream stream) const {
  return (*state_)[stream].has_room();
}

bool TerminalWriter::flushed() const {
  return state_->out->flushed() && state_->err->flushed();
}

void TerminalWriter::on_flushed(std::function<void()> listener) {
  state_->on_flushed = std::move(listener);
}

bool TerminalWriter::flush(Duration limit) {
  const TimePoint deadline = Clock::now() + limit;
  const bool out = state_->out->flush(deadline);
  return state_->err->flush(deadline) && out;
}

LostOutput TerminalWriter::lost() const {
  LostOutput lost = state_->out->lost();
  if (state_->err == state_->out) return lost;
  const LostOutput err = state_->err->lost();
  lost.bytes += err.bytes;
  if (lost.refusal.empty()) lost.refusal = err.refusal;
  lost.refused_job = lost.refused_job || err.refused_job;
  return lost;
}

const StandardStreams& TerminalWriter::streams() const {
  return state_->streams;
}

}  // namespace safelaunch::output
