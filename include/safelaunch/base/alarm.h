#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "safelaunch/base/time.h"

namespace safelaunch {

/// A timer for something that may end at any moment. Asio's own calls its handler even after its
/// destruction where the time had passed before and the news was already on its way; this one never
/// rings once it was cancelled, set anew or destroyed.
class Alarm {
 public:
  using Ring = std::function<void()>;

  explicit Alarm(boost::asio::io_context& io) : timer_(io) {}

  /// Calls `ring` once, through the io_context, at that time; a later call replaces an earlier one.
  void set(TimePoint time, Ring ring) {
    set_ = std::make_shared<Ring>(std::move(ring));
    timer_.expires_at(time);
    timer_.async_wait([set = std::weak_ptr(set_)](const boost::system::error_code& cancelled) {
      if (const auto still = set.lock(); still && !cancelled) (*still)();
    });
  }
  void set_after(Duration time, Ring ring) { set(Clock::now() + time, std::move(ring)); }

  void cancel() {
    set_.reset();
    timer_.cancel();
  }

  /// The time for which it was set last, even if it has rung; the clock's beginning once cancelled.
  [[nodiscard]] TimePoint due() const { return set_ ? timer_.expiry() : TimePoint(); }

 private:
  boost::asio::steady_timer timer_;
  std::shared_ptr<Ring> set_;  ///< none: cancelled, or never set
};

}  // namespace safelaunch
