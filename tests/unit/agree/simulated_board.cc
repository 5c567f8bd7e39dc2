// The life of the board: where it lives and dies with node 0's agent, and what it remembers of an
// earlier life. It hears nothing while its keeper is stopped.
#include "simulation.h"

namespace safelaunch::agree::simulated {

void Simulation::open_board(const EarlierLife& earlier) {
  Terms terms = kTerms;
  if (bugs_.no_kill_margin) terms.kill_margin = 0ms;
  board_.emplace(seats_, terms,
                 bugs_.board_forgets ? EarlierLife{{}, earlier.generation} : earlier);
  note("the board opens");
  wake_board();
}

void Simulation::begin_board(Agent& keeper) {
  keeper_ = &keeper;
  open_board(earlier_);
}

void Simulation::close_board(bool in_order) {
  if (!board_) return;
  // As TcpHost: a board that ends while others sit keeps its memory of them.
  earlier_ =
      in_order && !board_->anybody_seated()
          ? EarlierLife{{}, board_->generation()}
          : EarlierLife{board_clock() + kTerms.lease + kTerms.kill_margin, board_->generation()};
  board_.reset();
  keeper_ = nullptr;
  ++board_lives_;
  note("the board ends");
  for (const auto& agent : agents_)
    if (agent->peer != 0)
      in(random_.up_to(100ms), [this, &one = *agent, peer = agent->peer] {
        if (one.peer == peer) broken(one, "connection reset");
      });
}

bool Simulation::board_paused() const {
  return keeper_ != nullptr && keeper_->paused;
}

void Simulation::at_board(const std::function<void()>& run) {
  if (!board_) return;
  if (board_paused())
    keeper_->missed.push_back([this, run, life = board_lives_] {
      if (life == board_lives_) run();
    });
  else
    run();
}

void Simulation::tell(std::vector<BoardCore::Told> told) {
  for (BoardCore::Told& one : told) send_to_agent(one.to, std::move(one.message));
  wake_board();
}

void Simulation::wake_board() {
  if (!board_ || !board_->deadline()) return;
  const auto local = std::chrono::duration_cast<Duration>(*board_->deadline() - TimePoint{});
  const Duration when(static_cast<std::int64_t>(static_cast<double>(local.count()) / board_rate_) +
                      1);
  if (board_wake_ && *board_wake_ <= when && *board_wake_ > now_) return;
  board_wake_ = when;
  at(when, [this, life = board_lives_] {
    if (life != board_lives_) return;
    board_wake_.reset();
    at_board([this] { tell(board_->time_passed(board_clock())); });
  });
}

}  // namespace safelaunch::agree::simulated
