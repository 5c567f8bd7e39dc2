#include "connection.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

// The plugin runs on threads of NCCL and of the program, so nothing here blocks or takes memory. A
// packet is built in a fixed array. Packets wait in a fixed queue while the socket or its backlog
// is full; any other error ends the connection for good, and the job goes on without us.
namespace safelaunch::plugin {

// ---- packets ------------------------------------------------------------------------------------

namespace {

constexpr std::size_t kLongestText = 64;

std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

bool is_plain(char letter) {
  return letter >= ' ' && letter <= '~' && letter != '"' && letter != '\\';
}

}  // namespace

Packet::Packet(std::string_view event) {
  text_[size_++] = '{';
  text_[size_++] = '}';
  add_text("e", event).add_number("t", monotonic_ns());
}

Packet& Packet::add_number(std::string_view key, std::uint64_t value) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), value).ptr;
  return add_raw(key, {digits.begin(), static_cast<std::size_t>(end - digits.begin())});
}

Packet& Packet::add_text(std::string_view key, std::string_view text) {
  std::array<char, kLongestText + 2> quoted{};
  std::size_t size = 0;
  quoted[size++] = '"';
  for (const char letter : text)
    if (is_plain(letter) && size <= kLongestText) quoted[size++] = letter;
  quoted[size++] = '"';
  return add_raw(key, {quoted.data(), size});
}

Packet& Packet::add_flag(std::string_view key, bool value) {
  return add_raw(key, value ? "true" : "false");
}

Packet& Packet::add_raw(std::string_view key, std::string_view value) {
  const bool first = size_ == 2;
  if (size_ + key.size() + value.size() + 4 > kRoom) return *this;
  const auto put = [this](std::string_view part) {
    for (const char letter : part) text_[size_++] = letter;
  };
  --size_;  // the brace
  put(first ? "\"" : ",\"");
  put(key);
  put("\":");
  put(value);
  put("}");
  return *this;
}

// ---- the connection -----------------------------------------------------------------------------

namespace {

struct SocketAddress {
  sockaddr_un value{};
  socklen_t size = 0;
};

std::optional<SocketAddress> socket_address(const char* name) {
  SocketAddress address;
  const std::size_t length = std::strlen(name);
  if (length < 2 || length >= sizeof address.value.sun_path) return std::nullopt;
  address.value.sun_family = AF_UNIX;
  std::memcpy(address.value.sun_path, name, length);
  const bool abstract = name[0] == '@';
  if (abstract) address.value.sun_path[0] = '\0';
  // A path ends with a NUL that counts; an abstract name is exactly its bytes.
  address.size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length + (abstract ? 0U : 1U));
  return address;
}

ino_t inode_of(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? status.st_ino : 0;
}

}  // namespace

void Connection::introduce(const char* address, const char* token, int api) {
  address_ = address;
  token_ = token;
  api_ = api;
}

void Connection::say(const Packet& packet) {
  if (address_ == nullptr || waiting_count_ == kMostWaiting) return;
  waiting_[waiting_count_++] = packet;
  flush();
}

bool Connection::flush() {
  if (waiting_count_ == 0) return true;
  if (fd_ < 0) open();
  std::size_t sent = 0;
  while (fd_ >= 0 && sent < waiting_count_) {
    const Sent result = send(waiting_[sent]);
    if (result == Sent::later) break;
    if (result == Sent::never) close();
    ++sent;
  }
  if (address_ == nullptr) waiting_count_ = sent = 0;
  std::copy(waiting_.begin() + sent, waiting_.begin() + waiting_count_, waiting_.begin());
  waiting_count_ -= sent;
  return waiting_count_ == 0;
}

void Connection::open() {
  const auto address = socket_address(address_);
  fd_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  // Where the program has closed a standard stream, it is to find it closed.
  if (fd_ >= 0 && fd_ <= STDERR_FILENO) {
    const int low = std::exchange(fd_, ::fcntl(fd_, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    ::close(low);
  }
  inode_ = inode_of(fd_);
  if (!address || fd_ < 0) return close();
  Packet hello("hello");
  hello.add_text("token", token_)
      .add_number("pid", static_cast<std::uint64_t>(::getpid()))
      .add_number("ppid", static_cast<std::uint64_t>(::getppid()))
      .add_number("plugin", static_cast<std::uint64_t>(api_));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address->value);
  if (::connect(fd_, generic, address->size) == 0 && send(hello) == Sent::yes) return;
  const bool backlog_is_full = errno == EAGAIN;
  const char* again = address_;
  close();
  if (backlog_is_full) address_ = again;
}

Connection::Sent Connection::send(const Packet& packet) const {
  if (!is_ours()) return Sent::never;
  const std::string_view text = packet.text();
  if (::send(fd_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return Sent::yes;
  return errno == EAGAIN || errno == ENOBUFS || errno == EINTR ? Sent::later : Sent::never;
}

// True if the descriptor is still our socket. A program may close every descriptor (daemons do) and
// open its own under our number.
bool Connection::is_ours() const {
  return inode_ != 0 && inode_of(fd_) == inode_;
}

void Connection::close() {
  if (fd_ >= 0 && is_ours()) ::close(fd_);
  fd_ = -1;
  address_ = nullptr;
}

}  // namespace safelaunch::plugin
