#include "wishes.h"

#include <algorithm>

namespace safelaunch::agree {
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
