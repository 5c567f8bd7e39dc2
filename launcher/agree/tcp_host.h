#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dialer.h"
#include "safelaunch/agree/board.h"

namespace safelaunch::agree {

/// Node 0's board of tcp: it keeps the board (BoardCore) for all agents. Its own agent speaks to it
/// without a connection; the others come through TcpServer. They are let in once node 0's agent has
/// claimed, which settles the job.
class TcpHost : public Board {
 public:
  /// Listens. The error: the address is not one of this host, stands for all interfaces, or its
  /// port is taken.
  [[nodiscard]] static Result<std::unique_ptr<TcpHost>> open(boost::asio::io_context& io,
                                                             const BoardConfig& config,
                                                             Listener& listener);
  TcpHost(const TcpHost&) = delete;
  TcpHost& operator=(const TcpHost&) = delete;
  ~TcpHost() override;

  /// The same for a board that others find by a notice: at `config.own_addresses`, on ports that
  /// the kernel gives. `over` is called where the board ends and nobody has a seat any more.
  [[nodiscard]] static Result<std::unique_ptr<TcpHost>> open_at(boost::asio::io_context& io,
                                                                const BoardConfig& config,
                                                                std::function<void()> over,
                                                                Listener& listener);
  /// Where it listens, each "ADDRESS:PORT".
  [[nodiscard]] std::vector<std::string> endpoints() const;

  void claim(const Claim& claim) override;
  void publish(std::string text) override;
  void say(Word word) override;
  void leave(std::function<void()> left) override;

 private:
  struct Shell;
  explicit TcpHost(std::shared_ptr<Shell> shell) : shell_(std::move(shell)) {}
  std::shared_ptr<Shell> shell_;
};

}  // namespace safelaunch::agree
