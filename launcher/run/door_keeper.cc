#include "door_keeper.h"

#include <fcntl.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/strings.h"

namespace safelaunch::run {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::string_view kGreets = "safelaunch ";
// 10,000 nodes with four doors come 60,000 times together, and to one node a hundred times.
constexpr int kMostVisits = 20'000;

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
    const tcp::endpoint at(address, 0);
    tcp::acceptor acceptor(io_);
    acceptor.open(at.protocol(), error);
    if (!error) ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
    if (!error) acceptor.bind(at, error);
    if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
    if (!error) door.port = acceptor.local_endpoint(error).port();
    if (error) {
      log_debug(fmt::format("no door at {}: {}", door.address, error.message()));
      continue;
    }
    opened.push_back(std::move(door));
    accept(acceptors_.emplace_back(std::move(acceptor)));
  }
  return opened;
}

void DoorKeeper::accept(tcp::acceptor& acceptor) {
  const std::weak_ptr<int> kept = visits_;
  acceptor.async_accept([this, &acceptor, kept](const error_code& error, tcp::socket visitor) {
    const auto visits = kept.lock();
    if (!visits) return;  // this object is gone
    if (!error) {
      // The little that is written has room in the socket's buffer, so nobody waits for a visitor.
      error_code ignored;
      visitor.non_blocking(true, ignored);
      visitor.write_some(boost::asio::buffer(to_text(Greeting{name_, wall_time()})), ignored);
    }
    if (error || ++*visits >= kMostVisits) {
      error_code ignored;
      return void(acceptor.close(ignored));
    }
    accept(acceptor);
  });
}

}  // namespace safelaunch::run
