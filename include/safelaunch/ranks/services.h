#pragma once

#include "safelaunch/report/event_log.h"

namespace boost::asio {
class io_context;
}

namespace safelaunch::launch {
class Reaper;
}  // namespace safelaunch::launch

namespace safelaunch::output {
class TerminalWriter;
}  // namespace safelaunch::output

namespace safelaunch::ranks {

/// The services that every attempt uses. The run owns them, and they live as long as it does.
struct Services {
  boost::asio::io_context& io;
  launch::Reaper& reaper;
  output::TerminalWriter& terminal;
  report::EventLog& log;
  DiskQueue& disk;
};

}  // namespace safelaunch::ranks
