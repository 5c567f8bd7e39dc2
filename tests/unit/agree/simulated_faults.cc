// The faults of connections, agents, hosts and the board, each for a while, and all are healed in
// the end.
#include <algorithm>

#include "safelaunch/base/format.h"
#include "simulation.h"

namespace safelaunch::agree::simulated {

void Simulation::fail() {
  if (agents_.empty()) return;
  Agent& agent =
      *agents_[static_cast<std::size_t>(random_.below(static_cast<int>(agents_.size())))];
  const Duration lasts = random_.up_to(random_.chance(50) ? 2s : 8s);
  switch (random_.below(8)) {
    case 0: return cut(agent, static_cast<Direction>(1 + random_.below(3)), lasts);
    case 1: return flap(agent, 2 + random_.below(6));
    case 2: return crash(agent);
    case 3: return pause(agent, lasts);
    case 4: return add_agent(agent.host, 0ms);  // a second one for the same node
    case 5: return add_agent(seats_, 0ms);      // a spare
    case 6:
      if (!agent.over && agent.alive) interrupt(agent);
      return;
    default: return on_node_0_ ? crash(*agents_.front()) : restart_board(lasts);
  }
}

void Simulation::cut(Agent& agent, Direction direction, Duration lasts) {
  note(fmt::format("agent {} is cut off", agent.id));
  agent.cut = direction;
  agent.cut_until = std::min(now_ + lasts, kHealed);
  at(agent.cut_until, [this, &agent] {
    if (now_ >= agent.cut_until) agent.cut = Direction::none;
  });
}

void Simulation::flap(Agent& agent, int times) {
  if (times == 0 || now_ >= kFaults) return;
  cut(agent, Direction::both, random_.up_to(900ms));
  in(900ms + random_.up_to(900ms), [this, &agent, times] { flap(agent, times - 1); });
}

void Simulation::crash(Agent& agent) {
  if (!agent.alive || agent.over) return;
  note(fmt::format("agent {} dies", agent.id));
  agent.alive = agent.paused = false;
  agent.missed.clear();
  agent.peer = 0;
  if (is_local(agent)) close_board(false);
  // Its guardian ends the ranks at once, or is gone with the agent, and they end with the lease.
  if (random_.chance(70)) end_ranks(agent, random_.up_to(kSlowestKill), 137, true);
  if (random_.chance(50)) add_agent(agent.host, random_.up_to(4s));
}

void Simulation::pause(Agent& agent, Duration lasts) {
  if (!agent.alive || agent.over || agent.paused) return;
  note(fmt::format("agent {} is stopped", agent.id));
  agent.paused = true;
  at(std::min(now_ + lasts, kHealed), [this, &agent] { go_on(agent); });
}

void Simulation::go_on(Agent& agent) {
  if (!agent.paused) return;
  note(fmt::format("agent {} goes on", agent.id));
  agent.paused = false;
  auto missed = std::exchange(agent.missed, {});
  if (random_.chance(50) && !agent.over) hand(agent, AgentTimePassed{});
  for (const auto& run : missed)
    if (agent.alive) run();
}

void Simulation::interrupt(Agent& agent) {
  note(fmt::format("agent {} gets a signal", agent.id));
  hand(agent, SignalHere{15});
  process(agent, [this, &agent] {
    if (agent.ranks == Ranks::alive) end_ranks(agent, random_.up_to(1s), 143, true);
  });
}

void Simulation::restart_board(Duration lasts) {
  if (!board_) return;
  close_board(false);
  at(std::min(now_ + lasts, kHealed), [this] {
    if (!board_) open_board(earlier_);
  });
}

void Simulation::heal() {
  healed_ = true;
  slowest_message_ = 20ms;
  for (const auto& agent : agents_) {
    agent->cut = Direction::none;
    go_on(*agent);
  }
  if (!on_node_0_ && !board_) open_board(earlier_);
}

}  // namespace safelaunch::agree::simulated
