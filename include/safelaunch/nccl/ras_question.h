#pragma once

#include <functional>
#include <memory>
#include <string>

#include "safelaunch/base/time.h"

namespace boost::asio {
class io_context;
}

namespace safelaunch::nccl {

/// Asks a process's RAS once, and gives up after a while: a query may land on the very process that
/// is stopped. Destroying it hangs up.
class RasQuestion {
 public:
  /// Takes the answer as far as it came: it may be cut, or empty.
  using OnAnswer = std::function<void(const std::string& answer)>;

  /// `address` is "127.0.0.1:PORT". Calls `on_answer` once, through the io_context.
  RasQuestion(boost::asio::io_context& io, const std::string& address, Duration limit,
              OnAnswer on_answer);
  RasQuestion(const RasQuestion&) = delete;
  RasQuestion& operator=(const RasQuestion&) = delete;
  ~RasQuestion();

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace safelaunch::nccl
