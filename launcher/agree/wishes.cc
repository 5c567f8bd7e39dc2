#include "wishes.h"

#include <algorithm>

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

void take_note(Wishes& wishes, const Outcome& outcome) {
  if (outcome.taken)
    std::erase_if(wishes.words, [&](const Word& word) {
      return word.generation == outcome.taken->generation && word.number <= outcome.taken->number;
    });
  const bool unseated =
      std::any_of(outcome.events.begin(), outcome.events.end(),
                  [](const BoardEvent& event) { return std::holds_alternative<Unseated>(event); });
  if (!unseated) return;
  // A word that the holder of a seat has said is not said again for another seat.
  wishes.words.clear();
  wishes.text = std::make_shared<const std::string>();
  ++wishes.version;
}
}  // namespace safelaunch::agree
