#pragma once

#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "safelaunch/watch/hook_message.h"
#include "safelaunch/watch/stall.h"

namespace safelaunch::run {

/// Drives `Stall` during training, where --stall-timeout asks for it: its timer, and the questions
/// to the hooks. Without a timeout it never wakes up.
class StallWatch {
 public:
  class Listener {
   public:
    /// All hooks are to be asked for their counters; `id` numbers the question.
    virtual void ask_counters(int id) = 0;
    virtual void on_stall(const watch::StallReport& report) = 0;

   protected:
    ~Listener() = default;
  };

  StallWatch(boost::asio::io_context& io, Duration timeout, Listener& listener)
      : timer_(io), timeout_(timeout), listener_(listener) {}

  void begin();
  void end();
  void saw_output();
  void answered(Rank rank, const watch::CountersAnswer& answer);

 private:
  void rearm();
  void tick();

  boost::asio::steady_timer timer_;
  Duration timeout_;
  Listener& listener_;
  std::optional<watch::Stall> stall_;
  int questions_ = 0;
};

}  // namespace safelaunch::run
