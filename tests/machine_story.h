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

/// "nothing: memory back; pause over", in lines of a screen's width.
inline std::string nothing_follows(const std::vector<std::string>& names) {
  constexpr std::size_t kWidth = 96;
  std::string text;
  std::string line = "nothing:";
  for (const std::string& name : names) {
    const std::string piece = " " + name + (&name == &names.back() ? "" : ";");
    if (line.size() + piece.size() > kWidth) text += std::exchange(line, " ") + "\n";
    line += piece;
  }
  return names.empty() ? "" : text + line + "\n";
}

/// One line for each event that makes a `Story` do something that came into its state by `way`: its
/// name, and in the words of `Word` what is done. The names of all others follow, so no event is
/// left out. `tell(story, happens)` lets the event happen.
template <class Word, class Story, class Happens, class Tell>
std::string table_of(const std::vector<std::pair<std::string, Happens>>& events,
                     const std::function<void(Story&)>& way, const Tell& tell) {
  std::string table = "\n";
  std::vector<std::string> without_effect;
  for (const auto& [name, happens] : events) {
    Story story;
    way(story);
    story.forget();
    tell(story, happens);
    std::string line = name + ":";
    for (const auto& one : story.done()) line += " " + std::visit(Word{}, one) + ",";
    if (story.done().empty())
      without_effect.push_back(name);
    else
      table += line.substr(0, line.size() - 1) + "\n";
  }
  return table + nothing_follows(without_effect);
}

}  // namespace safelaunch::testing
