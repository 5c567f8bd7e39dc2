#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include "safelaunch/nodes/mesh.h"

namespace safelaunch::nodes {

/// Visits the doors of other nodes, all at once, for a second at most: connects, reads the greeting
/// and goes; twice each, because a packet may be lost. Ends with what came of it. Lives on the
/// thread of the io_context; destroying it breaks all off, and nothing is told.
class DoorVisits {
 public:
  using Done = std::function<void(std::vector<Way>)>;

  DoorVisits(boost::asio::io_context& io, const AllDoors& doors, const std::vector<int>& seats,
             Done done);
  DoorVisits(const DoorVisits&) = delete;
  DoorVisits& operator=(const DoorVisits&) = delete;
  ~DoorVisits();

 private:
  class Visit;

  void tick();
  void visit_over();
  void end();

  boost::asio::steady_timer timer_;
  std::vector<std::shared_ptr<Visit>> visits_;
  Done done_;
  std::size_t open_ = 0;
  int ticks_ = 0;
  /// Goes with this object, so that a late handler sees that it is gone.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace safelaunch::nodes
