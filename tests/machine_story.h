#pragma once

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace safelaunch::testing {

/// The actions that a machine has wanted, gathered in place of being performed.
template <class Action>
class Deeds {
 public:
  template <class Held>
  [[nodiscard]] std::vector<Held> all() const {
    std::vector<Held> found;
    for (const Action& one : done_)
      if (const auto* held = std::get_if<Held>(&one)) found.push_back(*held);
    return found;
  }
  template <class Held>
  [[nodiscard]] bool did() const {
    return !all<Held>().empty();
  }
  void forget() { done_.clear(); }
  [[nodiscard]] const std::vector<Action>& done() const { return done_; }

 protected:
  std::vector<Action> done_;
};

/// One line an event: its name, and in the words of `Word` what it makes a `Story` do that came
/// into its state by `way`. `tell(story, happens)` lets the event happen.
template <class Word, class Story, class Happens, class Tell>
std::string table_of(const std::vector<std::pair<std::string, Happens>>& events,
                     const std::function<void(Story&)>& way, const Tell& tell) {
  std::string table = "\n";
  for (const auto& [name, happens] : events) {
    Story story;
    way(story);
    story.forget();
    tell(story, happens);
    std::string line = name + ":";
    for (const auto& one : story.done()) line += " " + std::visit(Word{}, one) + ",";
    line.pop_back();
    table += line + "\n";
  }
  return table;
}

}  // namespace safelaunch::testing
