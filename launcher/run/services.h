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

namespace safelaunch::run {

/// What lives as long as the whole run and every attempt uses; owned by the run.
struct Services {
  boost::asio::io_context& io;
  launch::Reaper& reaper;
  output::TerminalWriter& terminal;
  report::EventLog& log;
  DiskQueue& disk;
};

}  // namespace safelaunch::run
