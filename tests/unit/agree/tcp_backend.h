#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <memory>
#include <string>

#include "launcher/agree/dialer.h"
#include "launcher/agree/makers.h"
#include "safelaunch/agree/board.h"
#include "safelaunch/base/unique_fd.h"
#include "temporary_folder.h"

namespace safelaunch::agree::testing {

/// The board of node 0, on a port of the loopback.
struct AtNodeZero {
  static constexpr bool kLeaderKeepsBoard = true;
  safelaunch::testing::TemporaryFolder folder;
  std::string where = free_address();

  [[nodiscard]] static std::string why_not() { return {}; }
  [[nodiscard]] BoardConfig config(bool first) const {
    BoardConfig config;
    config.address = {Address::Backend::tcp, {where}};
    config.keeps_board = first && !somebody_listens();
    config.memory_folder = folder / "boards";
    std::filesystem::create_directories(config.memory_folder);
    return config;
  }
  static Result<std::unique_ptr<Board>> make(boost::asio::io_context& io, const BoardConfig& config,
                                             Board::Listener& listener) {
    return make_tcp_board(io, config, listener);
  }
  [[nodiscard]] bool is_clean(const std::string& /*job*/ = {}) const {
    return std::filesystem::is_empty(folder / "boards");
  }

  /// Bound once, and so given to nobody else for now.
  static std::string free_address() {
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    (void)::bind(fd.get(), reinterpret_cast<sockaddr*>(&here), size);
    (void)::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&here), &size);
    return "127.0.0.1:" + std::to_string(ntohs(here.sin_port));
  }
  [[nodiscard]] bool somebody_listens() const {
    const auto address = SocketAddress::parse("127.0.0.1", where.substr(where.find(':') + 1));
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return ::connect(fd.get(), address->pointer(), address->size()) == 0;
  }
};

}  // namespace safelaunch::agree::testing
