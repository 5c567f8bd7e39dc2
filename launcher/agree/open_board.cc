#include "makers.h"

namespace safelaunch::agree {

Result<std::unique_ptr<Board>> open_board(boost::asio::io_context& io, const BoardConfig& config,
                                          Board::Listener& listener) {
  switch (config.address.backend) {
    case Address::Backend::etcd: return make_etcd_board(io, config, listener);
    case Address::Backend::file: return make_file_board(io, config, listener);
    case Address::Backend::tcp: break;
  }
  return make_tcp_board(io, config, listener);
}

}  // namespace safelaunch::agree
