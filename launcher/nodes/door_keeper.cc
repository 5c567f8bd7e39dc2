#include "safelaunch/nodes/door_keeper.h"

#include <fcntl.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/strings.h"

// A door on the port that the ranks will need later must leave that port free. The side that closes
// a connection first keeps its port in TIME_WAIT for a minute. So the visitor closes first; at the
// end the door resets visitors that have not.
namespace safelaunch::nodes {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::string_view kGreets = "safelaunch ";
// 10,000 nodes with four doors come 60,000 times together, and to one node a hundred times.
constexpr int kMostVisits = 20'000;
// Each costs a descriptor. Another node is in and out within milliseconds.
constexpr std::size_t kMostInside = 256;

void turn_out(tcp::socket& visitor) {
  error_code ignored;
  visitor.set_option(boost::asio::socket_base::linger(true, 0), ignored);
  visitor.close(ignored);  // the destructor would take the option back
}

}  // namespace

std::chrono::microseconds wall_time() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

std::string to_text(const Greeting& greeting) {
  return fmt::format("{}{} {}\n", kGreets, greeting.name, greeting.time.count());
}

std::optional<Greeting> greeting_from(std::string_view text) {
  if (!text.starts_with(kGreets) || !text.ends_with('\n')) return std::nullopt;
  text = text.substr(kGreets.size(), text.size() - kGreets.size() - 1);
  const std::size_t space = text.find(' ');
  if (space == text.npos) return std::nullopt;
  const auto time = number_in<std::int64_t>(text.substr(space + 1));
  if (time <= 0) return std::nullopt;
  return Greeting{std::string(text.substr(0, space)), std::chrono::microseconds(time)};
}

std::vector<Door> DoorKeeper::open(const std::vector<Door>& doors) {
  std::vector<Door> opened;
  for (Door door : doors) {
    error_code error;
    const auto address = boost::asio::ip::make_address(door.address, error);
    if (error) continue;
    const bool own_port = door.port != 0;
    const tcp::endpoint at(address, static_cast<std::uint16_t>(door.port));
    tcp::acceptor acceptor(io_);
    acceptor.open(at.protocol(), error);
    if (!error) ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
    if (!error && own_port) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(at, error);
    if (!error && !own_port) acceptor.listen(tcp::acceptor::max_listen_connections, error);
    if (!error) door.port = acceptor.local_endpoint(error).port();
    if (error) {
      log_debug(fmt::format("no door at {}: {}", door.address, error.message()));
      continue;
    }
    opened.push_back(door);
    Opened& kept = opened_.emplace_back(door.interface, own_port, std::move(acceptor));
    if (!own_port) accept(kept);
  }
  return opened;
}

// A port that is bound and does not listen refuses, and is held all the same.
void DoorKeeper::let_in(const std::string& interface) {
  for (Opened& door : opened_) {
    if (door.interface != interface || !door.acceptor.is_open()) continue;
    error_code error;
    door.acceptor.listen(tcp::acceptor::max_listen_connections, error);
    if (!error) accept(door);
  }
}

DoorKeeper::~DoorKeeper() {
  for (Opened& door : opened_) shut(door);
}

void DoorKeeper::close(const std::string& interface) {
  for (Opened& door : opened_)
    if (door.interface == interface) shut(door);
}

// Closes without a goodbye: else the port would be kept for a minute (TIME_WAIT), and a rank that
// does not ask for SO_REUSEADDR could not have it.
void DoorKeeper::shut(Opened& door) {
  error_code ignored;
  door.acceptor.close(ignored);
  for (const auto& visitor : door.inside) turn_out(*visitor);
  door.inside.clear();
}

// Keeps the connection until the visitor closes it, because the side that closes first keeps the
// port in TIME_WAIT. Visitors of ours close at once.
void DoorKeeper::hold(Opened& door, tcp::socket visitor) {
  if (door.inside.size() >= kMostInside) return turn_out(visitor);
  const auto inside = std::make_shared<tcp::socket>(std::move(visitor));
  door.inside.insert(inside);
  inside->async_wait(tcp::socket::wait_read,
                     [&door, inside, kept = std::weak_ptr(visits_)](const error_code&) {
                       if (kept.lock()) door.inside.erase(inside);
                     });
}

void DoorKeeper::accept(Opened& door) {
  const std::weak_ptr<int> kept = visits_;
  door.acceptor.async_accept([this, &door, kept](const error_code& error, tcp::socket visitor) {
    const auto visits = kept.lock();
    if (!visits) return;  // this object is gone
    if (!error) {
      // The little that is written has room in the socket's buffer, so nobody waits for a visitor.
      error_code ignored;
      visitor.non_blocking(true, ignored);
      visitor.write_some(boost::asio::buffer(to_text(Greeting{name_, wall_time()})), ignored);
    }
    error_code ignored;
    if (!error && door.own_port) hold(door, std::move(visitor));
    if (error || ++*visits >= kMostVisits) return void(door.acceptor.close(ignored));
    accept(door);
  });
}

}  // namespace safelaunch::nodes
