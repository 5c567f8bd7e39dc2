#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>

#include "safelaunch/watch/hook_message.h"
#include "safelaunch/watch/stall.h"

namespace safelaunch::run {

/// Drives `Stall` during training, where --stall-timeout asks for it: its timer, and the questions
/// to the hooks. Without a timeout it never wakes up.
class StallWatch {
 public:
  using AskAll = std::function<void(int id)>;
  using OnStall = std::function<void(const watch::StallReport& report)>;

  StallWatch(boost::asio::io_context& io, Duration timeout, OnStall on_stall)
      : timer_(io), timeout_(timeout), on_stall_(std::move(on_stall)) {}

  void begin(AskAll ask_all);
  void end();
  void saw_output();
  void answered(Rank rank, const watch::CountersAnswer& answer);

 private:
  void rearm();
  void tick();

  boost::asio::steady_timer timer_;
  Duration timeout_;
  OnStall on_stall_;
  AskAll ask_all_;
  std::optional<watch::Stall> stall_;
  int questions_ = 0;
};

}  // namespace safelaunch::run
