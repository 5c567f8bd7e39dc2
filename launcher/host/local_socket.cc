#include "safelaunch/host/local_socket.h"

#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

// The one that listens and the one that connects find each other by the same address, so both make
// it here. A name proves nothing, since anybody may take it; the kernel's own word on the other end
// (SO_PEERCRED) does.
namespace safelaunch::host {
namespace {

struct LocalAddress {
  sockaddr_un value{};
  socklen_t size = 0;
};

std::optional<LocalAddress> address_of(const std::string& name) {
  LocalAddress address;
  if (name.size() < 2 || name.size() >= sizeof address.value.sun_path) return std::nullopt;
  address.value.sun_family = AF_UNIX;
  std::memcpy(address.value.sun_path, name.data(), name.size());
  const bool abstract = name.front() == '@';
  if (abstract) address.value.sun_path[0] = '\0';
  // A path ends with a NUL that counts; an abstract name is all the bytes there are.
  address.size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (abstract ? 0U : 1U));
  return address;
}

Error last_error() {
  return Error{Errc::os, std::strerror(errno)};
}

using Use = int (*)(int, const sockaddr*, socklen_t);

Result<UniqueFd> socket_at(const std::string& name, int type, Use use) {
  const auto address = address_of(name);
  if (!address) return Error{Errc::os, "the name is empty or longer than 107 bytes"};
  UniqueFd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (!fd) return last_error();
  const auto* generic = reinterpret_cast<const sockaddr*>(&address->value);
  if (use(fd.get(), generic, address->size) != 0) return last_error();
  return fd;
}

}  // namespace

Result<UniqueFd> listen_locally(const std::string& name, int type) {
  const Use bind_and_listen = [](int fd, const sockaddr* address, socklen_t size) {
    return ::bind(fd, address, size) == 0 ? ::listen(fd, SOMAXCONN) : -1;
  };
  return socket_at(name, type | SOCK_NONBLOCK, bind_and_listen);
}

Result<UniqueFd> connect_locally(const std::string& name, int type) {
  return socket_at(name, type, ::connect);
}

std::optional<ucred> peer_of(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

}  // namespace safelaunch::host
