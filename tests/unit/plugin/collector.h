#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "catch.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/watch/hook_message.h"

namespace safelaunch::testing {

/// A variable of this process for a while.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

/// safelaunch's end of the socket, and the variables that lead a plugin to it.
class Collector {
 public:
  explicit Collector(int backlog = 8)
      : listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)),
        socket_("SAFELAUNCH_HOOK", name()),
        token_("SAFELAUNCH_HOOK_TOKEN", "the token") {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name().data() + 1, name().size() - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name().size());
    REQUIRE(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listener_.get(), backlog) == 0);
  }

  /// The next packet of the plugin, as safelaunch reads it; none if the plugin has hung up.
  std::optional<watch::HookMessage> hear() {
    if (!connection_) {
      REQUIRE(readable(listener_.get(), kPatience));
      connection_.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
    REQUIRE(readable(connection_.get(), kPatience));
    std::array<char, 4096> buffer{};
    const ssize_t got = ::recv(connection_.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) return std::nullopt;
    raw_.assign(buffer.data(), static_cast<std::size_t>(got));
    auto message = watch::read_hook_message(raw_, speaker_);
    REQUIRE(message.has_value());
    return *message;
  }
  /// True if there is something to hear now.
  bool has_news() { return readable(connection_ ? connection_.get() : listener_.get(), 0); }
  /// The last packet as it came.
  [[nodiscard]] const std::string& raw() const { return raw_; }

  /// Takes the next connection and lets it go.
  void turn_away_one() {
    REQUIRE(readable(listener_.get(), kPatience));
    UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)).reset();
  }

  void hang_up() {
    connection_.reset();
    listener_.reset();
  }

 private:
  static constexpr int kPatience = 20'000;  // ms, for a busy machine

  static std::string name() { return "@safelaunch-plugin-test-" + std::to_string(::getpid()); }
  static bool readable(int fd, int timeout) {
    pollfd look{fd, POLLIN, 0};
    return ::poll(&look, 1, timeout) == 1;
  }

  UniqueFd listener_;
  UniqueFd connection_;
  ScopedVariable socket_;
  ScopedVariable token_;
  watch::HookSpeaker speaker_{.process = {71, 9}};
  std::string raw_;
};

}  // namespace safelaunch::testing
