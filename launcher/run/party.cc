// What the board tells becomes an event of the machine; what the machine wants of it is done.
#include "party.h"

#include <boost/asio/io_context.hpp>
#include <utility>

namespace safelaunch::run {

Result<std::unique_ptr<Party>> Party::open(boost::asio::io_context& io,
                                           const agree::BoardConfig& board,
                                           const agree::AgentConfig& agent, Listener& listener) {
  std::unique_ptr<Party> party(new Party(io, agent, listener));
  Result<std::unique_ptr<agree::Board>> opened = agree::open_board(io, board, *party);
  if (!opened) return opened.error();
  party->board_ = *std::move(opened);
  return party;
}

Party::Party(boost::asio::io_context& io, const agree::AgentConfig& agent, Listener& listener)
    : listener_(listener), machine_(agent), timer_(io) {}

void Party::take(const agree::AgentEvent& event) {
  for (const agree::AgentAction& action : machine_.on(event, Clock::now()))
    std::visit([this](const auto& one) { perform(one); }, action);
  set_timer();
}

void Party::set_timer() {
  const auto deadline = machine_.deadline();
  if (!deadline) return void(timer_.cancel());
  timer_.expires_at(*deadline);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) take(agree::AgentTimePassed{});
  });
}

void Party::seated(const agree::Seat& seat) {
  take(agree::Seated{seat});
}

void Party::parked(const std::string& why) {
  take(agree::Parked{why});
}

void Party::confirmed(TimePoint sent) {
  take(agree::Confirmed{sent});
}

void Party::word(const agree::Word& word) {
  take(agree::WordCame{word});
}

void Party::standing(const agree::Standing& standing) {
  take(agree::StandingCame{standing});
}

void Party::vacated(int seat) {
  take(agree::SeatVacated{seat});
}

void Party::unseated(const std::string& why) {
  take(agree::Unseated{why});
}

void Party::unreachable(const std::string& why) {
  take(agree::Unreachable{why});
}

void Party::refused(const Error& error) {
  take(agree::Refused{error});
}

void Party::turned_away(const std::string& who_and_why) {
  take(agree::TurnedAway{who_and_why});
}

void Party::perform(const agree::ClaimSeat& claim) {
  board_->claim(claim.claim);
}

void Party::perform(const agree::Publish& publish) {
  board_->publish(to_text(publish.news));
}

void Party::perform(const agree::Say& say) {
  board_->say(say.word);
}

// The last word of this node, and that it goes, must reach the others before the program ends.
void Party::perform(const agree::LeaveBoard&) {
  leaving_ = true;
  board_->leave([this] {
    leaving_ = false;
    if (end_) listener_.party_wants(*std::exchange(end_, std::nullopt));
  });
}

void Party::perform(const agree::EndHere& end) {
  end_ = end;
  if (!leaving_) listener_.party_wants(*std::exchange(end_, std::nullopt));
}

}  // namespace safelaunch::run
