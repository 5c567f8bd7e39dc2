#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "catch.h"
#include "launcher/agree/makers.h"
#include "launcher/agree/records.h"
#include "private_etcd.h"
#include "safelaunch/agree/board.h"
#include "tcp_backend.h"
#include "temporary_folder.h"

/// The backends that the tests of every board run over.
namespace safelaunch::agree::testing {

/// A shared folder.
struct InFolder {
  static constexpr bool kLeaderKeepsBoard = true;
  safelaunch::testing::TemporaryFolder folder;

  /// Why the tests cannot run here; empty: they can.
  [[nodiscard]] static std::string why_not() { return {}; }
  /// For the agent of node 0, or of another one.
  [[nodiscard]] BoardConfig config(bool /*first*/) const {
    BoardConfig config;
    config.address = {Address::Backend::file, {}, folder / "meeting"};
    config.own_addresses = {"127.0.0.1"};
    return config;
  }
  static Result<std::unique_ptr<Board>> make(boost::asio::io_context& io, const BoardConfig& config,
                                             Board::Listener& listener) {
    return make_file_board(io, config, listener);
  }
  /// Whether the board has left nothing behind.
  [[nodiscard]] bool is_clean(const std::string& /*job*/) const {
    return std::filesystem::is_empty(folder / "meeting");
  }
};

/// A real etcd. Each scene has a job of its own in it.
struct InEtcd {
  static constexpr bool kLeaderKeepsBoard = false;

  [[nodiscard]] static std::string why_not() { return PrivateEtcd::instance().why_not(); }
  [[nodiscard]] static BoardConfig config(bool /*first*/) {
    BoardConfig config;
    config.address = {Address::Backend::etcd, {PrivateEtcd::instance().address()}};
    return config;
  }
  static Result<std::unique_ptr<Board>> make(boost::asio::io_context& io, const BoardConfig& config,
                                             Board::Listener& listener) {
    return make_etcd_board(io, config, listener);
  }
  [[nodiscard]] static bool is_clean(const std::string& job) {
    return PrivateEtcd::instance().keys_under("/safelaunch/" + plain_job_name(job)).empty();
  }
};

/// A socket that listens at 127.0.0.1, and never says a word.
struct Mute {
  UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::string where = AtNodeZero::free_address();
  Mute() {
    const auto address = SocketAddress::parse("127.0.0.1", endpoint_of(where).port);
    REQUIRE(::bind(fd.get(), address->pointer(), address->size()) == 0);
    REQUIRE(::listen(fd.get(), 8) == 0);
  }
};

}  // namespace safelaunch::agree::testing

/// As types of a TEMPLATE_TEST_CASE.
#define SAFELAUNCH_BACKENDS                                                 \
  safelaunch::agree::testing::InFolder, safelaunch::agree::testing::InEtcd, \
      safelaunch::agree::testing::AtNodeZero
