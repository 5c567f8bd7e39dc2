#pragma once

#include <map>

#include "safelaunch/base/time.h"

namespace safelaunch::agree {

/// Measures how long the holder of each seat has been silent, as one observer sees it by its own
/// monotonic clock: since the holder's sign last changed. It counts only time between the end of
/// one look and the beginning of the next, and little of a long gap. So an observer that was
/// stopped itself, or could not look, does not take that for the silence of others.
class Silence {
 public:
  explicit Silence(Duration most_of_a_gap) : most_of_a_gap_(most_of_a_gap) {}

  /// The signs that a look has shown, by seat. A seat that is not among them keeps what it had.
  void look(TimePoint began, TimePoint ended, const std::map<int, std::string>& signs);

  [[nodiscard]] Clock::duration of(int seat) const;
  /// Whether a seat that an earlier look has shown too has changed its sign since the first look.
  [[nodiscard]] bool heard_any() const { return heard_any_; }

 private:
  struct Sign {
    std::string text;
    Clock::duration silent{};
  };
  Duration most_of_a_gap_;
  std::map<int, Sign> seats_;
  TimePoint last_{};
  bool heard_any_ = false;
};

}  // namespace safelaunch::agree
