#pragma once

#include "safelaunch/report/event_log.h"

namespace boost::asio {
class io_context;
}

namespace safelaunch {

class Reaper;
class TerminalWriter;

/// What lives as long as the whole run and every attempt uses; owned by the run.
struct Services {
  boost::asio::io_context& io;
  Reaper& reaper;
  TerminalWriter& terminal;
  EventLog& log;
  DiskQueue& disk;
};

}  // namespace safelaunch
