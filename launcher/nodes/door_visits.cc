#include "safelaunch/nodes/door_visits.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <utility>

#include "safelaunch/base/time.h"
#include "safelaunch/host/network.h"
#include "safelaunch/nodes/door_keeper.h"

// All doors are tried at once, and the time runs in steps of this process's own: while it is
// stopped, nobody's patience ends. A door is given up after a second; until then its second try may
// still reach it. The round trip is the kernel's own measurement, and a clock is compared with the
// half of the time that the greeting took, which is the error as well.
namespace safelaunch::nodes {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;
using std::chrono::microseconds;

// A second in steps: while this process is stopped, or the host too busy for it, the time of those
// who wait for an answer does not run out.
constexpr Duration kStep{100};
constexpr int kMostSteps = 10;
// By then the first try's packet is lost, or the way is very long.
constexpr int kSecondTryAt = 4;

Way::End end_of(int error) {
  switch (host::reach_of_error(error)) {
    case host::Reach::connected: return Way::End::reached;
    case host::Reach::refused: return Way::End::refused;
    case host::Reach::timed_out: return Way::End::no_answer;
    case host::Reach::no_route: return Way::End::no_route;
    case host::Reach::failed: break;
  }
  return Way::End::unknown;
}

}  // namespace

/// Two tries at one door.
class DoorVisits::Visit : public std::enable_shared_from_this<Visit> {
 public:
  Visit(boost::asio::io_context& io, const tcp::endpoint& at, std::string name, Way way,
        std::function<void()> over)
      : at_(at),
        name_(std::move(name)),
        way_(std::move(way)),
        over_(std::move(over)),
        tries_{Try(io), Try(io)} {}

  void begin() { begin_next(); }
  /// The first try has had no answer for a while.
  void try_again() {
    if (over_ && begun_ == 1) begin_next();
  }
  void stop() {
    over_ = nullptr;
    for (Try& one : tries_) close(one);
  }
  /// The result of the visit, also before it is over.
  [[nodiscard]] Way way() const {
    Way way = way_;
    if (way.end == Way::End::unknown && waits_for_answer()) way.end = Way::End::no_answer;
    return way;
  }

 private:
  struct Try {
    explicit Try(boost::asio::io_context& io) : socket(io) {}
    tcp::socket socket;
    TimePoint began{};
    microseconds wall{};
    bool connecting = false;
    bool connected = false;
    std::array<char, kLongestGreeting> text{};
  };

  [[nodiscard]] bool waits_for_answer() const {
    bool connecting = false;
    for (const Try& one : tries_) {
      if (one.connected) return false;
      connecting = connecting || one.connecting;
    }
    return connecting;
  }

  void begin_next() {
    Try& one = tries_[begun_++];
    error_code error;
    one.socket.open(at_.protocol(), error);
    if (error) return end(one, Way::End::unknown);
    ::fcntl(one.socket.native_handle(), F_SETFD, FD_CLOEXEC);
    one.connecting = true;
    one.began = Clock::now();
    one.wall = wall_time();
    one.socket.async_connect(at_, [self = shared_from_this(), &one](const error_code& failed) {
      if (self->over_) self->connected(one, failed);
    });
  }

  void connected(Try& one, const error_code& failed) {
    one.connecting = false;
    if (failed) return end(one, end_of(failed.value()));
    one.connected = true;
    tcp_info info{};
    socklen_t size = sizeof info;
    const microseconds round_trip(
        ::getsockopt(one.socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0
            ? info.tcpi_rtt
            : 0);
    if (round_trip.count() > 0 && (way_.round_trip.count() == 0 || round_trip < way_.round_trip))
      way_.round_trip = round_trip;
    boost::asio::async_read(
        one.socket, boost::asio::buffer(one.text),
        // The side that closes first keeps the port for a minute, and the other side may need its
        // own.
        [&one](const error_code& ended, std::size_t length) -> std::size_t {
          const std::string_view read(one.text.data(), length);
          return ended || read.find('\n') != read.npos ? 0 : one.text.size() - length;
        },
        [self = shared_from_this(), &one](const error_code&, std::size_t length) {
          if (self->over_) self->greeted(one, {one.text.data(), length});
        });
  }

  void greeted(Try& one, std::string_view text) {
    const auto took = std::chrono::duration_cast<microseconds>(Clock::now() - one.began);
    const auto greeting = greeting_from(text);
    if (!greeting) return end(one, Way::End::unknown);
    if (greeting->name != name_) return end(one, Way::End::other_host);
    // The other clock was read between the begin and the end of this try.
    if (!way_.ahead || took / 2 < way_.error) {
      way_.ahead = greeting->time - (one.wall + took / 2);
      way_.error = took / 2;
    }
    end(one, Way::End::reached);
  }

  void end(Try& one, Way::End how) {
    close(one);
    one.connecting = one.connected = false;
    ++ended_;
    if (way_.end != Way::End::reached && how != Way::End::unknown) way_.end = how;
    // A second look at a door that answers takes no time, and tells the round trip without the
    // first packet's question for the hardware address.
    if (how == Way::End::reached && begun_ == 1) return begin_next();
    if (ended_ == begun_) std::exchange(over_, nullptr)();
  }

  static void close(Try& one) {
    error_code ignored;
    one.socket.close(ignored);
  }

  tcp::endpoint at_;
  std::string name_;
  Way way_;
  std::function<void()> over_;
  std::array<Try, 2> tries_;
  std::size_t begun_ = 0;
  std::size_t ended_ = 0;
};

DoorVisits::DoorVisits(boost::asio::io_context& io, const AllDoors& doors,
                       const std::vector<int>& seats, Done done)
    : timer_(io), done_(std::move(done)) {
  for (const int seat : seats) {
    const auto node = doors.find(seat);
    if (node == doors.end()) continue;
    for (const Door& door : node->second.doors) {
      error_code error;
      const auto address = boost::asio::ip::make_address(door.address, error);
      if (error) continue;
      const tcp::endpoint at(address, static_cast<std::uint16_t>(door.port));
      visits_.push_back(std::make_shared<Visit>(
          io, at, node->second.name, Way{seat, door.interface}, [this] { visit_over(); }));
    }
  }
  open_ = visits_.size() + 1;  // and this function
  for (const auto& visit : visits_) visit->begin();
  tick();
  visit_over();
}

DoorVisits::~DoorVisits() {
  for (const auto& visit : visits_) visit->stop();
}

void DoorVisits::tick() {
  timer_.expires_after(kStep);
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](const error_code& cancelled) {
    if (cancelled || alive.expired() || !done_) return;
    if (++ticks_ == kMostSteps) return end();
    if (ticks_ == kSecondTryAt)
      for (const auto& visit : visits_) visit->try_again();
    tick();
  });
}

void DoorVisits::visit_over() {
  if (--open_ > 0) return;
  // The listener may destroy this object, and a visit is still at work.
  boost::asio::post(timer_.get_executor(), [this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) end();
  });
}

void DoorVisits::end() {
  std::vector<Way> ways;
  for (const auto& visit : visits_) {
    ways.push_back(visit->way());
    visit->stop();
  }
  timer_.cancel();
  if (Done done = std::exchange(done_, nullptr)) done(std::move(ways));
}

}  // namespace safelaunch::nodes
