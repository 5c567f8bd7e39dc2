// The clocks of the agents and of the board run apart by a percent at most: the simulation has the
// true time, and each sees its own.
#include "simulation.h"

namespace safelaunch::agree::simulated {

void Simulation::at(Duration when, std::function<void()> run) {
  queue_.push({std::max(when, now_), ++order_, std::move(run)});
}

void Simulation::in(Duration delay, std::function<void()> run) {
  at(now_ + delay, std::move(run));
}

TimePoint Simulation::clock_of(const Agent& agent) const {
  return TimePoint{} + 1h * (agent.id + 1) +
         Duration(static_cast<std::int64_t>(static_cast<double>(now_.count()) * agent.rate));
}

/// When that clock shows the time.
Duration Simulation::when(const Agent& agent, TimePoint time) const {
  const auto local = std::chrono::duration_cast<Duration>(time - TimePoint{}) - 1h * (agent.id + 1);
  return Duration(static_cast<std::int64_t>(static_cast<double>(local.count()) / agent.rate) + 1);
}

TimePoint Simulation::board_clock() const {
  return TimePoint{} +
         Duration(static_cast<std::int64_t>(static_cast<double>(now_.count()) * board_rate_));
}

}  // namespace safelaunch::agree::simulated
