#include "nccl/wire.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>

namespace safelaunch::testing {
namespace {

bool again() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/// Moves what can be moved now; false if the peer is gone.
bool move_on(Transfer& transfer) {
  while (transfer.size > 0) {
    const ssize_t count =
        transfer.way == Transfer::Way::send
            ? ::send(transfer.fd, transfer.data, transfer.size, MSG_NOSIGNAL | MSG_DONTWAIT)
            : ::recv(transfer.fd, transfer.data, transfer.size, MSG_DONTWAIT);
    if (count < 0 && again()) return true;
    if (count <= 0) return false;
    transfer.data += count;
    transfer.size -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

Stop::Stop() : event_(::eventfd(0, EFD_CLOEXEC)) {}

void Stop::ask() {
  asked_ = true;
  ::eventfd_write(event_.get(), 1);
}

void Stop::wait() const {
  pollfd readable{event_.get(), POLLIN, 0};
  while (!asked_) ::poll(&readable, 1, -1);
}

Ended transfer(std::vector<Transfer> transfers, const Stop& stop) {
  for (;;) {
    if (stop.asked()) return Ended::stopped;
    for (Transfer& one : transfers)
      if (!move_on(one)) return Ended::closed;
    std::erase_if(transfers, [](const Transfer& one) { return one.size == 0; });
    if (transfers.empty()) return Ended::done;
    std::vector<pollfd> ready{{stop.fd(), POLLIN, 0}};
    for (const Transfer& one : transfers)
      ready.push_back(
          {one.fd, static_cast<short>(one.way == Transfer::Way::send ? POLLOUT : POLLIN), 0});
    ::poll(ready.data(), ready.size(), -1);
  }
}

Ended send_bytes(int fd, const void* data, std::size_t size, const Stop& stop) {
  char* bytes = const_cast<char*>(static_cast<const char*>(data));  // a send only reads them
  return transfer({{Transfer::Way::send, fd, bytes, size}}, stop);
}

Ended receive_bytes(int fd, void* data, std::size_t size, const Stop& stop) {
  return transfer({{Transfer::Way::receive, fd, static_cast<char*>(data), size}}, stop);
}

UniqueFd listen_on(Address& address) {
  UniqueFd listener(::socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  address.set_port(0);
  socklen_t size = address.size();
  if (::bind(listener.get(), &address.any, size) != 0 || ::listen(listener.get(), 1024) != 0)
    return UniqueFd();
  ::getsockname(listener.get(), &address.any, &size);
  return listener;
}

UniqueFd accept_from(int listener, const Stop& stop) {
  pollfd ready[] = {{stop.fd(), POLLIN, 0}, {listener, POLLIN, 0}};
  while (!stop.asked()) {
    ::poll(ready, 2, -1);
    if (stop.asked() || !(ready[1].revents & POLLIN)) continue;
    UniqueFd connection(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    const int on = 1;
    ::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connection) return connection;
  }
  return UniqueFd();
}

UniqueFd connect_once(const Address& address) {
  UniqueFd connection(::socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(connection.get(), &address.any, address.size()) != 0) return UniqueFd();
  return connection;
}

}  // namespace safelaunch::testing
