#include "board_event.h"

namespace safelaunch::agree {
namespace {

struct Telling {
  Board::Listener& listener;
  void operator()(const Seated& event) const { listener.seated(event.seat); }
  void operator()(const Parked& event) const { listener.parked(event.why); }
  void operator()(const Confirmed& event) const { listener.confirmed(event.sent); }
  void operator()(const WordCame& event) const { listener.word(event.word); }
  void operator()(const StandingCame& event) const { listener.standing(event.standing); }
  void operator()(const SeatVacated& event) const { listener.vacated(event.seat); }
  void operator()(const Unseated& event) const { listener.unseated(event.why); }
  void operator()(const Unreachable& event) const { listener.unreachable(event.why); }
  void operator()(const Refused& event) const { listener.refused(event.error); }
};

}  // namespace

void tell(Board::Listener& listener, const BoardEvent& event) {
  std::visit(Telling{listener}, event);
}

}  // namespace safelaunch::agree
