// An agent's process, the actions of its machine, and its ranks. An event for a process that is
// stopped waits until that goes on.
#include <algorithm>

#include "safelaunch/base/format.h"
#include "simulation.h"

namespace safelaunch::agree::simulated {

void Simulation::process(Agent& agent, std::function<void()> run) {
  if (!agent.alive) return;
  if (agent.paused)
    agent.missed.push_back(std::move(run));
  else
    run();
}

void Simulation::hand(Agent& agent, AgentEvent event) {
  process(agent, [this, &agent, event = std::move(event)] {
    if (agent.over) return;
    note(agent, event.index());
    auto actions = agent.machine->on(event, clock_of(agent));
    for (const AgentAction& action : actions)
      std::visit([&](const auto& one) { perform(agent, one); }, action);
    if (!agent.over) wake(agent);
  });
}

void Simulation::wake(Agent& agent) {
  const auto deadline = agent.machine->deadline();
  if (!deadline) {
    if (!agent.parked && !agent.unreported && agent.wants_board)
      violate(fmt::format("agent {} waits for nothing", agent.id));
    return;
  }
  if (*deadline <= clock_of(agent)) violate(fmt::format("agent {} turns in circles", agent.id));
  const std::uint64_t number = ++agent.wakes;
  at(when(agent, *deadline), [this, &agent, number] {
    process(agent, [this, &agent, number] {
      if (agent.wakes == number) hand(agent, AgentTimePassed{});
    });
  });
}

void Simulation::perform(Agent& agent, const ClaimSeat&) {
  agent.wants_board = true;
  connect(agent);
}

void Simulation::perform(Agent& agent, const Publish& publish) {
  agent.text = to_text(publish.news);
  if (agent.peer != 0 && agent.seated) send_to_board(agent, wire::Publishes{*agent.text});
}

void Simulation::perform(Agent& agent, const Say& say) {
  Word word = say.word;
  if (bugs_.generation_stays && board_) word.generation = board_->generation();
  agent.word = word;
  if (agent.peer != 0 && !agent.says_again) send_to_board(agent, wire::Says{word});
}

void Simulation::perform(Agent& agent, const LeaveBoard&) {
  if (agent.peer != 0) send_to_board(agent, wire::Leaves{});
  forget_board(agent);
  if (is_local(agent))
    in(200ms, [this, &agent] {
      if (is_local(agent)) close_board(true);
    });
}

void Simulation::perform(Agent& agent, const StartHere& start) {
  const std::pair attempt(agent.heard.first, start.go.attempt);
  note(fmt::format("agent {} starts {}.{}", agent.id, attempt.first, attempt.second));
  check_start(agent, start.go, attempt);
  ++played_.attempts;
  agent.ranks = Ranks::alive;
  agent.unreported = true;
  agent.of = attempt;
  agent.seat_of_ranks = *agent.machine->seat();
  const int run = ++agent.runs;
  if (agent.machine->leads())
    in(7s, [this, &agent, run] {
      if (agent.runs == run) hand(agent, StopWanted{"a rank hangs"});
    });
  if (random_.chance(15)) return;  // they hang
  const int exit_code = random_.chance(60) ? 0 : 1;
  in(random_.up_to(6s), [this, &agent, run, exit_code] {
    if (agent.runs == run && agent.ranks == Ranks::alive) end_ranks(agent, 0ms, exit_code, true);
  });
}

void Simulation::perform(Agent& agent, const StopHere&) {
  if (agent.ranks == Ranks::alive) end_ranks(agent, random_.up_to(1500ms), 0, false);
}

void Simulation::perform(Agent& agent, const KillHere&) {
  end_ranks(agent, random_.up_to(kSlowestKill), 137, true);
}

void Simulation::perform(Agent& agent, const HoldLease& hold) {
  if (bugs_.no_guardian || bugs_.lease_ignored) return;
  agent.held_until = when(agent, hold.until);
  at(agent.held_until, [this, &agent] {
    if (now_ >= agent.held_until) end_ranks(agent, random_.up_to(kSlowestKill), 137, true);
  });
}

void Simulation::perform(Agent& agent, const AttendHere& attend) {
  agent.news.answered = attend.question;
  in(random_.up_to(500ms), [this, &agent] { hand(agent, NewsHere{agent.news}); });
}

void Simulation::perform(Agent& agent, const ReachOthers&) {
  agent.news.ways = "[]";
  in(random_.up_to(500ms), [this, &agent] { hand(agent, NewsHere{agent.news}); });
}

void Simulation::perform(Agent& agent, const AllReady&) {
  if (std::exchange(agent.wants, true)) return;
  if (random_.chance(50))
    in(random_.up_to(300ms), [this, &agent] { hand(agent, ReachWanted{"[]"}); });
  propose(agent);
}

void Simulation::propose(Agent& agent) {
  Decision go;
  go.order = Order::go;
  go.attempt = ++agent.attempt;
  go.profile = random_.chance(50) ? "basic" : "no-shm";
  go.master_port = 20'000 + random_.below(10'000);
  go.workers = {random_.below(8), random_.below(8)};
  in(random_.up_to(300ms), [this, &agent, go] { hand(agent, AttemptWanted{go}); });
  if (random_.chance(20))
    in(random_.up_to(3s), [this, &agent] { hand(agent, AttentionWanted{true, agent.attempt}); });
}

void Simulation::perform(Agent& agent, const AttemptOverEverywhere& over) {
  bool well = over.lost.empty();
  for (const auto& [seat, news] : over.news) well = well && news.end && news.end->exit_code == 0;
  if (well || agent.attempt >= 3 || (!over.lost.empty() && random_.chance(50))) {
    const int exit_code = well ? 0 : over.lost.empty() ? 1 : 69;
    in(random_.up_to(300ms), [this, &agent, exit_code] { hand(agent, EndWanted{exit_code, ""}); });
  } else {
    propose(agent);
  }
}

void Simulation::perform(Agent& agent, const EndHere& end) {
  if (agent.ranks != Ranks::none)
    violate(fmt::format("agent {} ends while its ranks run", agent.id));
  note(fmt::format("agent {} ends with {}: {}", agent.id, end.exit_code, end.why));
  agent.end = end;
  be_over(agent);
}

void Simulation::perform(Agent& agent, const GoApart&) {
  if (agent.ranks != Ranks::none)
    violate(fmt::format("agent {} goes apart while its ranks run", agent.id));
  be_over(agent);
}

void Simulation::be_over(Agent& agent) {
  agent.over = true;
  ended_at_[agent.id] = now_;
  if (is_local(agent))
    in(200ms, [this, &agent] {
      if (is_local(agent)) close_board(true);
    });
}

void Simulation::end_ranks(Agent& agent, Duration takes, int exit_code, bool by_itself) {
  if (agent.ranks == Ranks::none) return;
  agent.ranks = Ranks::ending;
  in(takes, [this, &agent, exit_code, by_itself, run = agent.runs] {
    if (agent.runs != run || agent.ranks == Ranks::none) return;
    agent.ranks = Ranks::none;
    process(agent, [this, &agent, exit_code, by_itself] {
      agent.unreported = false;
      hand(agent, AttemptOverHere{{agent.of.second, exit_code, {}}, by_itself});
    });
  });
}

}  // namespace safelaunch::agree::simulated
