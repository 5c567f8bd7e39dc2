// The rules that hold whatever fails. The first breach ends the schedule.
#include <algorithm>
#include <tuple>

#include "safelaunch/base/format.h"
#include "simulation.h"

namespace safelaunch::agree::simulated {

void Simulation::violate(const std::string& what) {
  if (played_.violation.empty())
    played_.violation = fmt::format("after {} ms: {}", now_.count(), what);
}

/// A seat is given away when nothing of its former holder runs any more.
void Simulation::check_seat(const Agent& holder, int seat) {
  for (const auto& other : agents_)
    if (other.get() != &holder && other->ranks != Ranks::none && other->seat_of_ranks == seat)
      violate(fmt::format("agent {} gets seat {} while ranks of agent {} run there", holder.id,
                          seat, other->id));
}

/// Nothing of another attempt runs on any node, and nothing of the same rank; all start the same.
void Simulation::check_start(const Agent& starter, const Decision& go,
                             std::pair<std::uint64_t, int> attempt) {
  for (const auto& other : agents_) {
    if (other->ranks == Ranks::none) continue;
    const bool same_rank = other->seat_of_ranks == *starter.machine->seat();
    if (same_rank || other->of != attempt)
      violate(
          fmt::format("agent {} starts attempt {}.{} of node {} while agent {} runs {}.{} of "
                      "node {}",
                      starter.id, attempt.first, attempt.second, *starter.machine->seat(),
                      other->id, other->of.first, other->of.second, other->seat_of_ranks));
  }
  const std::pair counted(starter.generation, go.attempt);
  const auto terms = std::tuple(go.profile, go.master_port, go.workers);
  const auto [known, is_new] = layouts_.emplace(counted, terms);
  if (!is_new && known->second != terms)
    violate(fmt::format("two layouts of attempt {}.{}", counted.first, counted.second));
}

/// After the healing all agents at the board hear the same, within two seconds.
void Simulation::check_agreement() {
  if (!healed_ || agreed_) return;
  if (agree()) {
    agreed_ = true;
    played_.agreed = now_ - kHealed;
  } else if (now_ > kHealed + kAgreeWithin) {
    violate("no agreement in time");
  }
}

bool Simulation::agree() const {
  const Agent* leader = nullptr;
  for (const auto& agent : agents_) {
    const bool here = agent->alive && !agent->over && agent->wants_board && board_;
    if (here && agent->peer == 0) return false;
    if (here && agent->machine->leads()) leader = agent.get();
  }
  return std::all_of(agents_.begin(), agents_.end(), [&](const auto& agent) {
    return leader == nullptr || !agent->alive || agent->over || !agent->seated ||
           agent->heard == leader->heard;
  });
}

bool Simulation::all_over() const {
  return healed_ && std::all_of(agents_.begin(), agents_.end(), [](const auto& agent) {
           return (agent->over || !agent->alive) && agent->ranks == Ranks::none;
         });
}

/// Those that were together at the end have ended alike; one that was alone says so with 69.
void Simulation::check_end() {
  std::map<std::uint64_t, int> codes;
  for (const auto& agent : agents_) {
    if (agent->ranks != Ranks::none) violate(fmt::format("ranks of agent {} live on", agent->id));
    if (agent->alive && !agent->over) violate(fmt::format("agent {} is not over", agent->id));
    if (!agent->end || agent->end->exit_code == 69 || agent->end->exit_code > 128) continue;
    const auto [code, is_new] = codes.emplace(agent->heard.first, agent->end->exit_code);
    if (!is_new && code->second != agent->end->exit_code)
      violate(fmt::format("agent {} ends with {}, and another with {}", agent->id,
                          agent->end->exit_code, code->second));
  }
}

std::string Simulation::still_there() const {
  std::string text;
  for (const auto& agent : agents_)
    if (agent->alive && !agent->over)
      text += fmt::format("; agent {} (parked {}, seated {}, ranks {})", agent->id, agent->parked,
                          agent->seated, static_cast<int>(agent->ranks));
  return text;
}

}  // namespace safelaunch::agree::simulated
