// Sets a schedule up from its seed, and plays its events in the order of their times.
#include <algorithm>
#include <array>
#include <variant>

#include "simulator.h"

#include "safelaunch/base/format.h"
#include "simulation.h"

namespace safelaunch::agree::simulated {

Played Simulation::play() {
  set_up();
  while (!queue_.empty() && played_.violation.empty()) {
    Task task = std::move(const_cast<Task&>(queue_.top()));
    queue_.pop();
    now_ = task.at;
    if (now_ > kLongest) {
      violate("not over after " + describe_duration(kLongest) + still_there());
      break;
    }
    ++played_.events;
    task.run();
    check_agreement();
    if (all_over()) break;
  }
  if (played_.violation.empty()) check_end();
  return std::move(played_);
}

void Simulation::set_up() {
  seats_ = 2 + random_.below(3);
  on_node_0_ = random_.chance(60);
  slowest_message_ = random_.chance(50) ? 20ms : 300ms;
  apart_ = random_.chance(5);
  board_rate_ = 0.99 + 0.0002 * random_.below(101);
  if (!on_node_0_) open_board(EarlierLife{});
  for (int host = 0; host < seats_; ++host)
    if (!random_.chance(3)) add_agent(host, random_.up_to(2s));
  for (int i = random_.below(5); i > 0; --i) at(random_.up_to(kFaults), [this] { fail(); });
  at(kHealed, [this] { heal(); });
}

void Simulation::add_agent(int host, Duration delay) {
  const int id = static_cast<int>(agents_.size());
  agents_.push_back(std::make_unique<Agent>());
  Agent& agent = *agents_.back();
  agent.id = id;
  agent.host = host;
  agent.rate = 0.99 + 0.0002 * random_.below(101);
  agent.claim.incarnation = "i" + std::to_string(id);
  if (host < seats_ && (host == 0 || !random_.chance(10))) agent.claim.seat = host;
  agent.claim.seats = seats_;
  agent.claim.job = "j";
  agent.claim.host = "h" + std::to_string(host);
  AgentConfig config;
  config.claim = agent.claim;
  config.terms = kTerms;
  if (bugs_.lease_ignored) config.terms.lease = 1h;
  config.start_within = kStartWithin;
  if (apart_) config.apart_after = 3s;
  config.seed = random_.next();
  agent.machine.emplace(config);
  in(delay, [this, &agent] {
    if (!agent.alive) return;
    if (on_node_0_ && agent.host == 0 && !board_) begin_board(agent);
    hand(agent, Joins{});
  });
  in(delay + random_.up_to(2s), [this, &agent] { hand(agent, NewsHere{agent.news}); });
}

void Simulation::note(const std::string& line) {
  if (tells_) played_.story += fmt::format("{:6} {}\n", now_.count(), line);
}

void Simulation::note(const Agent& agent, std::size_t event) {
  constexpr std::array kNames{"joins",          "seated",      "parked",      "confirmed",
                              "word",           "standing",    "vacated",     "unseated",
                              "unreachable",    "refused",     "turned away", "news",
                              "attempt wanted", "stop wanted", "end wanted",  "attention",
                              "reach wanted",   "over here",   "signal",      "time"};
  static_assert(kNames.size() == std::variant_size_v<AgentEvent>);
  if (tells_ && event != 3) note(fmt::format("  agent {}: {}", agent.id, kNames[event]));
}

}  // namespace safelaunch::agree::simulated

namespace safelaunch::agree {

Played play(std::uint64_t seed, const Bugs& bugs, Tell tell) {
  return simulated::Simulation(seed, bugs, tell).play();
}

}  // namespace safelaunch::agree
