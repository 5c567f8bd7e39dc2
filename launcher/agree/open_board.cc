#include "makers.h"
#include "safelaunch/base/format.h"

namespace safelaunch::agree {
namespace {

Error not_there(const BoardConfig& config) {
  return Error{Errc::usage, fmt::format("--rendezvous {}: it is not there yet in this version; "
                                        "tcp://HOST:PORT and file:///FOLDER are",
                                        to_string(config.address))};
}

}  // namespace

Result<std::unique_ptr<Board>> make_etcd_board(boost::asio::io_context& /*io*/,
                                               const BoardConfig& config,
                                               Board::Listener& /*listener*/) {
  return not_there(config);
}

Result<std::unique_ptr<Board>> open_board(boost::asio::io_context& io, const BoardConfig& config,
                                          Board::Listener& listener) {
  switch (config.address.backend) {
    case Address::Backend::tcp: return make_tcp_board(io, config, listener);
    case Address::Backend::etcd: return make_etcd_board(io, config, listener);
    case Address::Backend::file: return make_file_board(io, config, listener);
  }
  return not_there(config);
}

}  // namespace safelaunch::agree
