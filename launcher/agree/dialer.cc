#include "dialer.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/host/network.h"

// Each step that may block stands on a thread of its own or in the kernel, and its result comes
// back as an event of the loop. Each try has a mark that stop() takes away, since a handler that is
// queued already cannot be cancelled and must find out that nobody wants it any more.
namespace safelaunch::agree {
namespace {

// The thread lives that long at most before it says that it has no answer.
constexpr Duration kAnswersWithin{10'000};

// The kernel asks a second time after one second.
constexpr Duration kConnectsWithin{1'500};

std::string in_words(int error) {
  switch (error) {
    case ECONNREFUSED: return "refuses connections: safelaunch does not run there, or not yet";
    case ETIMEDOUT: return "does not answer: its host is down, or a filter drops the packets";
    default: return fmt::format("cannot be reached: {}", strerror(error));
  }
}

}  // namespace

std::optional<SocketAddress> SocketAddress::parse(const std::string& address,
                                                  const std::string& port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), port.c_str(), &hints, &found) != 0) return std::nullopt;
  SocketAddress result;
  std::memcpy(&result.storage_, found->ai_addr, found->ai_addrlen);
  result.size_ = found->ai_addrlen;
  ::freeaddrinfo(found);
  return result;
}

bool SocketAddress::is_wildcard() const {
  if (storage_.ss_family == AF_INET)
    return reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr.s_addr == INADDR_ANY;
  const auto& six = *reinterpret_cast<const sockaddr_in6*>(&storage_);
  return IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr);
}

Endpoint endpoint_of(const std::string& host_and_port) {
  const std::size_t colon = host_and_port.rfind(':');
  std::string host = host_and_port.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {host, host_and_port.substr(colon + 1)};
}

Dialer::Dialer(boost::asio::io_context& io, Find find)
    : question_(io), find_(std::move(find)), socket_(io), patience_(io) {}

Dialer::Dialer(boost::asio::io_context& io, const std::string& host_and_port)
    : Dialer(io, [this, endpoint = endpoint_of(host_and_port)](const Found& found) {
        ask(endpoint, found);
      }) {}

void Dialer::ask(const Endpoint& endpoint, const Found& found) {
  const auto with_port = [endpoint](const std::string& address) {
    return address + ":" + endpoint.port;
  };
  if (host::is_address(endpoint.host)) return found(std::vector{with_port(endpoint.host)});
  question_.run(
      [host = endpoint.host] { return host::look_up(host, kAnswersWithin).addresses; },
      [=](const std::optional<std::vector<std::string>>& addresses) {
        if (!addresses)
          return found(Error{Errc::peer_lost, "cannot be found: no name server answers"});
        std::vector<std::string> endpoints;
        std::ranges::transform(*addresses, std::back_inserter(endpoints), with_port);
        if (!endpoints.empty()) return found(std::move(endpoints));
        found(Error{Errc::peer_lost,
                    fmt::format("cannot be reached: no name server knows {}", endpoint.host)});
      });
}

void Dialer::stop() {
  connected_ = nullptr;
  if (wanted_) *wanted_ = false;  // a handler that is queued already cannot be cancelled
  question_.stop();
  patience_.cancel();
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void Dialer::dial(Connected connected) {
  stop();
  wanted_ = std::make_shared<bool>(true);
  connected_ = std::move(connected);
  find_([this, wanted = wanted_](const Result<std::vector<std::string>>& endpoints) {
    if (!*wanted) return;
    if (endpoints) return connect_to(endpoint_of((*endpoints)[turn_++ % endpoints->size()]));
    std::exchange(connected_, nullptr)(endpoints.error());
  });
}

void Dialer::connect_to(const Endpoint& endpoint) {
  const auto where = SocketAddress::parse(endpoint.host, endpoint.port);
  if (!where) return conclude(EADDRNOTAVAIL);
  UniqueFd fd(::socket(where->family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!fd || ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
    return conclude(errno);
  const bool begun =
      ::connect(fd.get(), where->pointer(), where->size()) == 0 || errno == EINPROGRESS;
  if (!begun) return conclude(errno);
  socket_.assign(fd.release());
  patience_.set_after(kConnectsWithin, [this] { conclude(ETIMEDOUT); });
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                     [this, wanted = wanted_](const boost::system::error_code&) {
                       if (!*wanted) return;
                       int reason = 0;
                       socklen_t size = sizeof reason;
                       ::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_ERROR, &reason, &size);
                       conclude(reason);
                     });
}

void Dialer::conclude(int error) {
  const Connected connected = std::exchange(connected_, nullptr);
  if (!connected) return;
  patience_.cancel();
  if (error == 0) return connected(UniqueFd(socket_.release()));
  boost::system::error_code ignored;
  socket_.close(ignored);
  connected(Error{Errc::peer_lost, in_words(error)});
}
}  // namespace safelaunch::agree
