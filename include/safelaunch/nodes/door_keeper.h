#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <list>
#include <memory>
#include <set>

#include "safelaunch/nodes/mesh.h"

namespace safelaunch::nodes {

/// Listens at this node's doors, each on its one address and its port, or, without one, a port that
/// the kernel gives. Every visitor is told the node's name and the time, and is let go at once:
/// nothing is read from it, and nothing kept. Lives on the thread of the io_context; it is open
/// until it is destroyed.
class DoorKeeper {
 public:
  DoorKeeper(boost::asio::io_context& io, std::string name) : io_(io), name_(std::move(name)) {}
  DoorKeeper(const DoorKeeper&) = delete;
  DoorKeeper& operator=(const DoorKeeper&) = delete;
  ~DoorKeeper();

  /// The doors that could be opened, with their ports. One at a port of its own, which the job
  /// needs afterwards, refuses until let_in(): a node's ranks may come there before their agents.
  [[nodiscard]] std::vector<Door> open(const std::vector<Door>& doors);
  void let_in(const std::string& interface);
  /// Closes the door of this interface. The port is free at once, for whoever binds it.
  void close(const std::string& interface);

 private:
  struct Opened {
    std::string interface;
    bool own_port;  ///< the job needs the port of this door afterwards
    boost::asio::ip::tcp::acceptor acceptor;
    /// Visitors that have not gone yet, at a port that the job needs.
    std::set<std::shared_ptr<boost::asio::ip::tcp::socket>> inside{};
  };

  void accept(Opened& door);
  void hold(Opened& door, boost::asio::ip::tcp::socket visitor);
  static void shut(Opened& door);

  boost::asio::io_context& io_;
  std::string name_;
  std::list<Opened> opened_;
  /// Goes with this object, so that a late handler sees that it is gone.
  std::shared_ptr<int> visits_ = std::make_shared<int>(0);
};

/// The words that a visitor reads.
struct Greeting {
  std::string name;
  std::chrono::microseconds time{};  ///< the time of the wall clock, since 1970
};
inline constexpr std::size_t kLongestGreeting = 96;
[[nodiscard]] std::string to_text(const Greeting& greeting);
/// Reads a greeting; nullopt where the text is none of ours.
[[nodiscard]] std::optional<Greeting> greeting_from(std::string_view text);
[[nodiscard]] std::chrono::microseconds wall_time();

}  // namespace safelaunch::nodes
