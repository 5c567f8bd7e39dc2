#pragma once

#include <memory>

#include "safelaunch/agree/board.h"

namespace safelaunch::agree {

/// The makers of open_board(), one a backend; `config.address` is of that backend.
using Maker = Result<std::unique_ptr<Board>>(boost::asio::io_context& io, const BoardConfig& config,
                                             Board::Listener& listener);

[[nodiscard]] Maker make_tcp_board;
[[nodiscard]] Maker make_etcd_board;
[[nodiscard]] Maker make_file_board;

}  // namespace safelaunch::agree
