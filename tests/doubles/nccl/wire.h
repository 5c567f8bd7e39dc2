#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <vector>

#include "nccl/interface.h"
#include "safelaunch/base/unique_fd.h"

namespace safelaunch::testing {

/// Ends every wait of one communicator: ncclCommAbort asks for it.
class Stop {
 public:
  Stop();
  void ask();
  [[nodiscard]] bool asked() const { return asked_; }
  [[nodiscard]] int fd() const { return event_.get(); }  ///< readable once asked for
  void wait() const;                                     ///< for ever, or until asked for

 private:
  UniqueFd event_;
  std::atomic<bool> asked_ = false;
};

/// How something on the wire ended.
enum class Ended { done, stopped, closed };

/// Bytes to be sent or received on one connection.
struct Transfer {
  enum class Way { send, receive } way;
  int fd;
  char* data;
  std::size_t size;
};

/// All of them at once, because a ring in which everyone sends first would stand still.
[[nodiscard]] Ended transfer(std::vector<Transfer> transfers, const Stop& stop);
[[nodiscard]] Ended send_bytes(int fd, const void* data, std::size_t size, const Stop& stop);
[[nodiscard]] Ended receive_bytes(int fd, void* data, std::size_t size, const Stop& stop);

/// A listening socket on a port that the kernel picks; `address` gets it.
[[nodiscard]] UniqueFd listen_on(Address& address);

/// The next connection; none if stopped.
[[nodiscard]] UniqueFd accept_from(int listener, const Stop& stop);

/// One try: a connection, or none and errno.
[[nodiscard]] UniqueFd connect_once(const Address& address);

}  // namespace safelaunch::testing
