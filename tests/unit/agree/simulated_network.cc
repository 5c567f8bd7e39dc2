// Messages and connections. No message overtakes another of its connection; one that is lost comes
// again later, and keeps those behind it waiting.
#include <algorithm>

#include "simulation.h"

namespace safelaunch::agree::simulated {

Duration Simulation::delay() {
  Duration delay = 1ms + random_.up_to(slowest_message_);
  if (now_ < kHealed && random_.chance(2)) delay += 200ms + random_.up_to(800ms);
  return delay;
}

bool Simulation::is_local(const Agent& agent) const {
  return keeper_ == &agent;
}

Duration Simulation::arrival(const Agent& agent, Direction direction, Duration& last) {
  Duration when = now_ + (is_local(agent) ? 0ms : delay());
  if (agent.cut == direction || agent.cut == Direction::both)
    when = std::max(when, agent.cut_until + delay());
  return last = std::max(when, last);
}

void Simulation::send_to_board(Agent& agent, wire::FromAgent message) {
  const Duration when = arrival(agent, Direction::to_board, agent.last_out);
  const int copies = random_.chance(2) ? 2 : 1;
  for (int i = 0; i < copies; ++i)
    at(when, [this, peer = agent.peer, message, life = board_lives_] {
      if (life != board_lives_) return;
      at_board([this, peer, message] { tell(board_->on(peer, message, board_clock())); });
    });
}

void Simulation::send_to_agent(Peer peer, wire::FromBoard message) {
  const auto found = agent_of_peer_.find(peer);
  if (found == agent_of_peer_.end() || found->second->peer != peer) return;
  Agent& agent = *found->second;
  if (const auto* seats = std::get_if<Seated>(&message)) check_seat(agent, seats->seat.number);
  const Duration when = arrival(agent, Direction::to_agent, agent.last_in);
  const bool twice = std::holds_alternative<WordCame>(message) && random_.chance(5);
  for (int i = 0; i < (twice ? 2 : 1); ++i)
    at(when, [this, &agent, peer, message] {
      process(agent, [this, &agent, peer, message] {
        if (agent.peer == peer) std::visit([&](const auto& one) { came(agent, one); }, message);
      });
    });
}

void Simulation::connect(Agent& agent) {
  if (!agent.wants_board || agent.peer != 0 || agent.connecting || !agent.alive) return;
  agent.connecting = true;
  const bool fails = !board_ || agent.cut != Direction::none;
  in(fails ? 300ms : delay() + delay(), [this, &agent, fails] {
    process(agent, [this, &agent, fails] {
      agent.connecting = false;
      if (!agent.wants_board) return;
      if (fails || !board_) return broken(agent, "cannot connect");
      agent.peer = ++peers_;
      agent_of_peer_[agent.peer] = &agent;
      agent.last_in = agent.last_out = now_;
      agent.asked.clear();
      agent.answered = now_;
      agent.says_again = true;
      Terms terms = kTerms;
      if (bugs_.no_kill_margin) terms.kill_margin = 0ms;
      send_to_board(agent, wire::ClaimsSeat{agent.claim, terms});
      renew(agent, agent.peer);
    });
  });
}

void Simulation::renew(Agent& agent, Peer peer) {
  if (agent.peer != peer || !agent.alive) return;
  if (now_ - agent.answered > kAnswerWithin) return broken(agent, "no answer");
  agent.asked[++agent.questions] = now_;
  asked_at_[{agent.id, agent.questions}] = clock_of(agent);
  send_to_board(agent, wire::Renews{agent.questions});
  in(kTerms.renew_every,
     [this, &agent, peer] { process(agent, [this, &agent, peer] { renew(agent, peer); }); });
}

void Simulation::broken(Agent& agent, const std::string& why) {
  const Peer former = std::exchange(agent.peer, 0);
  if (former != 0 && (bugs_.break_frees_seat || random_.chance(50)))
    in(bugs_.break_frees_seat ? 0ms : random_.up_to(3s), [this, former, life = board_lives_] {
      if (life == board_lives_) at_board([this, former] { lose(former); });
    });
  if (agent.over || !agent.alive) return;
  hand(agent, Unreachable{why});
  in(200ms + random_.up_to(500ms),
     [this, &agent] { process(agent, [this, &agent] { connect(agent); }); });
}

void Simulation::lose(Peer peer) {
  if (bugs_.break_frees_seat) return tell(board_->on(peer, wire::Leaves{}, board_clock()));
  board_->gone(peer);
}

void Simulation::came(Agent& agent, const Seated& message) {
  agent.seated = true;
  agent.parked = false;
  if (agent.word && agent.word->generation != message.seat.generation) agent.word.reset();
  if (agent.text) send_to_board(agent, wire::Publishes{*agent.text});
  const std::uint64_t generation = bugs_.generation_stays ? 1 : message.seat.generation;
  hand(agent, Seated{{message.seat.number, generation}});
}

void Simulation::came(Agent& agent, const Parked& message) {
  agent.parked = true;
  agent.seated = false;
  hand(agent, Parked{message.why});
}

void Simulation::came(Agent& agent, const wire::Confirms& message) {
  agent.answered = now_;
  if (agent.asked.erase(message.number) == 0) return;
  const auto asked = asked_at_.extract({agent.id, message.number});
  if (agent.seated && std::exchange(agent.says_again, false) && agent.word)
    send_to_board(agent, wire::Says{*agent.word});
  if (message.holds) hand(agent, Confirmed{asked.mapped()});
}

void Simulation::came(Agent& agent, const WordCame& message) {
  Word word = message.word;
  if (agent.word && agent.word->number <= word.number) agent.word.reset();
  agent.heard = {word.generation, word.number};
  if (bugs_.generation_stays) word.generation = 1;
  agent.generation = word.generation;
  hand(agent, WordCame{std::move(word)});
}

void Simulation::came(Agent& agent, const StandingCame& message) {
  Standing standing = message.standing;
  if (bugs_.nobody_waited_for) {
    NodeNews news;
    news.phase = NodePhase::ready;
    news.heard = agent.heard.second;
    standing.text = to_text(news);
  }
  hand(agent, StandingCame{std::move(standing)});
}

void Simulation::came(Agent& agent, const SeatVacated& message) {
  hand(agent, SeatVacated{message.seat});
}

void Simulation::came(Agent& agent, const Unseated& message) {
  forget_board(agent);
  hand(agent, Unseated{message.why});
}

void Simulation::came(Agent& agent, const Refused& message) {
  forget_board(agent);
  violate("refused: " + message.error.message);
}

void Simulation::came(Agent& agent, const wire::LetsGo&) {
  forget_board(agent);
}

void Simulation::forget_board(Agent& agent) {
  agent.peer = 0;
  agent.wants_board = agent.seated = false;
  agent.text.reset();
  agent.word.reset();
}

}  // namespace safelaunch::agree::simulated
