#include "line_mux.h"

#include <algorithm>
#include <utility>

// At most one source owns the output, and only with a line that could not be held. Whole lines
// of the others are kept until the owner's line ends or its time is up. Both clocks count from
// what was seen: a writer's idle time from its last byte, the others' patience from when the
// first of them had a line ready.
namespace safelaunch::output {
namespace {

constexpr std::string_view kColoursOff = "\x1b[0m";

// The length of a line's overwritten part: up to the last \r that has text after it.
std::size_t overwritten(std::string_view line) {
  const std::size_t last = line.find_last_not_of('\r');
  if (last == std::string_view::npos) return 0;
  return line.rfind('\r', last) + 1;
}

// The visible rest of a line.
std::string_view visible(std::string_view line) {
  line.remove_prefix(overwritten(line));
  return line.substr(0, line.find_last_not_of('\r') + 1);
}

}  // namespace

std::size_t LineMux::add_source(std::string prefix) {
  sources_.emplace_back().prefix = std::move(prefix);
  return sources_.size() - 1;
}

void LineMux::feed(std::size_t source, std::string_view bytes, TimePoint now, std::string& lines) {
  Source& from = sources_[source];
  from.fed = now;
  if (target_ == Target::terminal) {
    safe_.clear();
    from.filter.pass(bytes, safe_);
    bytes = safe_;
  }
  if (owner_ && owner_ != source) {
    wait_for_owner(from, bytes, now);
    return;
  }
  pass(source, bytes, lines);
  serve_waiting(now, lines);
}

void LineMux::close(std::size_t source, TimePoint now, std::string& lines) {
  Source& from = sources_[source];
  from.filter.finish(from.held);
  if (owner_ && owner_ != source) {
    if (!from.held.empty() && from.held.back() != '\n') wait_for_owner(from, "\n", now);
    return;
  }
  if (owner_ == source || !from.held.empty()) end_line(source, {}, lines);
  serve_waiting(now, lines);
}

void LineMux::wait_for_owner(Source& source, std::string_view text, TimePoint now) {
  source.held += text;
  if (source.held.size() >= kLongestHeld || text.find('\n') != std::string_view::npos)
    source.waiting = true;
  if (source.waiting && !waiting_since_) waiting_since_ = now;
}

// Passes on the lines that end in `text`, and holds what follows the last of them.
void LineMux::pass(std::size_t source, std::string_view text, std::string& lines) {
  pass_whole_lines(sources_[source], text, lines);
  for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    end_line(source, text.substr(0, end), lines);
    text.remove_prefix(end + 1);
  }
  if (!text.empty()) hold(source, text, lines);
}

// The quick way for lines that need no change.
void LineMux::pass_whole_lines(Source& source, std::string_view& text, std::string& lines) {
  if (target_ == Target::terminal || !source.prefix.empty()) return;
  if (owner_ || !source.held.empty() || source.broken) return;
  const std::size_t size = text.rfind('\n') + 1;
  lines += text.substr(0, size);
  text.remove_prefix(size);
}

// Ends the present line of the source with `rest`.
void LineMux::end_line(std::size_t source, std::string_view rest, std::string& lines) {
  Source& from = sources_[source];
  if (owner_ != source) lines += from.prefix;
  if (!from.held.empty()) rest = from.held.append(rest);
  if (target_ == Target::terminal && owner_ != source) rest = visible(rest);
  lines += rest;
  if (target_ == Target::terminal && (owner_ == source || rest.find('\x1b') != rest.npos))
    lines += kColoursOff;
  lines += '\n';
  from.held.clear();
  from.broken = false;
  if (owner_ == source) owner_.reset();
  if (previewed_ == source) previewed_.reset();
}

// Keeps the beginning of a line, or passes it on if it is too long to be kept.
void LineMux::hold(std::size_t source, std::string_view text, std::string& lines) {
  if (owner_ == source) {
    lines += text;
    return;
  }
  Source& from = sources_[source];
  const bool overwrites = from.held.ends_with('\r') || text.find('\r') != text.npos;
  from.held += text;
  if (target_ == Target::terminal && overwrites) {
    from.held.erase(0, overwritten(from.held));
    // A carriage return means that the line wants to be seen now, so no idle time is waited for.
    if (may_be_shown(source)) previewed_ = source;
  }
  if (from.held.size() >= kLongestHeld) own(source, lines);
}

// Makes the source own the output and begins to pass on its unfinished line.
void LineMux::own(std::size_t source, std::string& lines) {
  Source& from = sources_[source];
  lines += from.prefix;
  lines += from.held;
  from.held.clear();
  owner_ = source;
  previewed_.reset();
}

void LineMux::break_owned_line(std::string& lines) {
  if (target_ == Target::terminal) lines += kColoursOff;
  lines += '\n';
  sources_[*owner_].broken = true;
  owner_.reset();
}

// Serves the sources that waited, now that the output is free: each passes on its lines, until one
// of them owns the output in turn.
void LineMux::serve_waiting(TimePoint now, std::string& lines) {
  if (!waiting_since_ || owner_) return;
  waiting_since_.reset();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    Source& source = sources_[i];
    if (!source.waiting) continue;
    if (owner_) {
      waiting_since_ = now;
      continue;
    }
    source.waiting = false;
    pass(i, std::exchange(source.held, {}), lines);
  }
}

// True if the source's line may be the preview. Another source's preview stays while it is fresh,
// so that two progress bars do not flicker. Of two that are not fresh the later counts, so that
// they do not take turns for ever.
bool LineMux::may_be_shown(std::size_t source) const {
  if (owner_ || sources_[source].broken || previewed_ == source) return false;
  return !previewed_ || sources_[source].fed > sources_[*previewed_].fed + kPatience;
}

TimePoint LineMux::end_of_patience() const {
  const TimePoint silent = sources_[*owner_].fed + kIdle;
  return std::max(*waiting_since_ + kPatience,
                  std::min(silent, *waiting_since_ + kPatienceWithWriter));
}

std::optional<TimePoint> LineMux::next_tick() const {
  if (owner_) return waiting_since_ ? std::optional(end_of_patience()) : std::nullopt;
  std::optional<TimePoint> next;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].held.empty() || !may_be_shown(i)) continue;
    const TimePoint idle = sources_[i].fed + kIdle;
    if (!next || idle < *next) next = idle;
  }
  return next;
}

void LineMux::tick(TimePoint now, std::string& lines) {
  if (owner_) {
    if (!waiting_since_ || now < end_of_patience()) return;
    break_owned_line(lines);
    serve_waiting(now, lines);
    return;
  }
  for (std::size_t i = 0; i < sources_.size() && !owner_; ++i) {
    if (sources_[i].held.empty() || !may_be_shown(i) || now < sources_[i].fed + kIdle) continue;
    if (target_ == Target::terminal) {
      previewed_ = i;
    } else {
      own(i, lines);
    }
  }
}

void LineMux::resume(TimePoint now) {
  if (waiting_since_) waiting_since_ = now;
  if (owner_) sources_[*owner_].fed = now;
}

bool LineMux::accepts(std::size_t source) const {
  return !owner_ || owner_ == source || sources_[source].held.size() < kLongestHeld;
}

std::string LineMux::preview() const {
  if (!previewed_ || owner_) return {};
  const Source& source = sources_[*previewed_];
  return source.prefix + std::string(visible(source.held));
}

}  // namespace safelaunch::output
