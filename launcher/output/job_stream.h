#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <memory>
#include <optional>

#include "lane.h"
#include "read_end.h"
#include "safelaunch/base/time.h"
#include "safelaunch/output/job_output.h"
#include "safelaunch/output/recording.h"
#include "safelaunch/output/tail.h"

namespace safelaunch::output {

/// One stream of one process, and where it goes.
struct JobStream {
  JobStream(StreamId whose, boost::asio::io_context& io, UniqueFd fd)
      : id(whose), read_end(io, std::move(fd)) {}

  StreamId id;
  ReadEnd read_end;  ///< closed once the stream has ended
  std::optional<Recording> recording;
  bool told_loss = false;  ///< of its recording
  Tail tail;
  bool shown = true;
  std::shared_ptr<Lane> lane;  ///< none: shown as it comes
  std::size_t lane_source = 0;
  bool parked = false;  ///< there is something to read, but nobody takes it yet
  TimePoint last_read{};
};

}  // namespace safelaunch::output
