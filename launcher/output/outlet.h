#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "safelaunch/base/alarm.h"
#include "safelaunch/base/time.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/output/std_streams.h"
#include "screen.h"

namespace safelaunch::output {

/// The way out to one of our own standard streams. It never blocks, because a terminal stopped by
/// Ctrl-S or a reader that has fallen asleep must not stop the watch over the job. O_NONBLOCK
/// belongs to the open file, which we share with our parent and with the shell after us, so it is
/// never set there: pipes and terminals are opened a second time.
class Sink {
 public:
  /// Takes a descriptor that stays the caller's. It may be closed; then everything is lost, without
  /// harm.
  explicit Sink(int fd);

  /// Writes as much as the stream takes now. Returns the number of bytes that are dealt with:
  /// written or, where the stream is gone or the disk is full, lost. If that is less than all, wait
  /// until fd() is writable.
  [[nodiscard]] std::size_t write(std::string_view bytes);

  /// Loses everything from now on; for the case that there is no way to wait for the reader.
  void abandon();

  [[nodiscard]] int fd() const { return own_ ? own_.get() : fd_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  /// The errno with which a file or device refused bytes; 0 where none has. A pipe, a socket or a
  /// terminal refuses nothing: its reader has gone.
  [[nodiscard]] int refusal() const { return refusal_; }

 private:
  enum class Way {
    plain,     ///< write(2): to a file, where it never waits, or to a stream opened a second time
    socket,    ///< send(2), which can be told not to block
    cautious,  ///< could not be opened again: small writes, and only while there is room
    gone,
  };

  [[nodiscard]] long write_some(std::string_view bytes) const;

  int fd_;
  UniqueFd own_;
  Way way_ = Way::plain;
  bool is_file_ = false;  // it is a file or a device, which no reader can leave
  std::uint64_t lost_ = 0;
  int refusal_ = 0;
};

/// One output of ours with what is on its screen: the Screen composes, the Sink writes, and this
/// waits, for a slow reader and for an idle line. Owned by TerminalWriter; shared only with its own
/// pending handlers, which do nothing once it is gone.
class Outlet : public std::enable_shared_from_this<Outlet> {
 public:
  Outlet(boost::asio::io_context& io, const StreamTarget& target, std::function<void()> on_flushed);
  ~Outlet();

  void write_job(std::string_view bytes);
  void write_message(std::string_view text);
  void write_quote(std::string_view text);
  void set_ink(bool colour) { screen_.set_ink(colour); }
  void set_preview(std::string_view line);
  void set_status(std::string_view line);
  void window_changed();

  [[nodiscard]] bool has_room() const;
  [[nodiscard]] bool flushed() const { return pending_.empty(); }
  [[nodiscard]] LostOutput lost() const;

  /// Blocks until everything is written or the deadline has come.
  bool flush(TimePoint deadline);

 private:
  void refresh();
  void write(std::string_view bytes);
  void write_composed(std::string_view message);
  void write_pending();
  void wait_for_reader();
  void reader_is_ready();
  void wait_for_idle_line();
  void break_line();

  boost::asio::io_context& io_;
  StreamTarget target_;
  std::function<void()> on_flushed_;
  Sink sink_;
  Screen screen_;
  std::string pending_;    // bytes that are composed and not yet taken
  std::size_t taken_ = 0;  // length of the part in front that was taken
  // Exists only while we wait for the descriptor.
  std::optional<boost::asio::posix::stream_descriptor> reader_;
  Alarm idle_;
  bool idle_armed_ = false;
  std::uint64_t job_writes_ = 0;
  bool lost_of_job_ = false;  // at once: a file or device takes or refuses bytes and never waits
};

}  // namespace safelaunch::output
