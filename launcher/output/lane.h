#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "line_mux.h"
#include "safelaunch/base/time.h"
#include "safelaunch/output/terminal_writer.h"

namespace safelaunch::output {

/// The lines of all ranks on their way to one stream of ours: a LineMux with its clock. Lines that
/// come within one turn of the io_context are written at once, with one system call for all ranks.
class Lane : public std::enable_shared_from_this<Lane> {
 public:
  /// `on_progress` is called when a source that had to wait may perhaps go on.
  Lane(boost::asio::io_context& io, TerminalWriter& terminal, StdStream stream,
       std::function<void()> on_progress);

  std::size_t add_source(std::string prefix) { return mux_.add_source(std::move(prefix)); }
  void feed(std::size_t source, std::string_view bytes);
  void close(std::size_t source);
  [[nodiscard]] bool accepts(std::size_t source) const { return mux_.accepts(source); }

  /// Writes the gathered lines now.
  void flush();

  /// Tells that the terminal has taken everything that waited for it.
  void terminal_flushed();

 private:
  void gathered();
  void arm();
  void tick();

  boost::asio::io_context& io_;
  TerminalWriter& terminal_;
  StdStream stream_;
  std::function<void()> on_progress_;
  LineMux mux_;
  std::string lines_;
  bool flush_posted_ = false;
  boost::asio::steady_timer timer_;
  TimePoint armed_ = TimePoint::max();  // the time at which the timer will fire
};

}  // namespace safelaunch::output
