#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>

#include "dialer.h"
#include "frame_stream.h"
#include "safelaunch/agree/board.h"
#include "tcp_agent.h"

namespace safelaunch::agree {

/// The board of tcp as an agent sees it whose node does not keep it. TcpAgent decides; this
/// connects, sends and keeps the time.
class TcpBoard : public Board {
 public:
  /// `find` says where the board is; without it, the address in `config` does.
  TcpBoard(boost::asio::io_context& io, const BoardConfig& config, Listener& listener,
           const Dialer::Find& find = {});
  TcpBoard(const TcpBoard&) = delete;
  TcpBoard& operator=(const TcpBoard&) = delete;
  ~TcpBoard() override;

  void claim(const Claim& claim) override;
  void publish(std::string text) override;
  void say(Word word) override;
  void leave(std::function<void()> left) override;

 private:
  struct Shell;
  std::shared_ptr<Shell> shell_;
};

}  // namespace safelaunch::agree
