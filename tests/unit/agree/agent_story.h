#pragma once

#include <string>
#include <vector>

#include "catch.h"
#include "machine_story.h"
#include "safelaunch/agree/agent_machine.h"
#include "safelaunch/base/format.h"

namespace safelaunch::agree {

using namespace std::chrono_literals;

/// An action in a few words.
struct ActionWord {
  std::string operator()(const ClaimSeat&) const { return "claim"; }
  std::string operator()(const Publish& one) const {
    constexpr const char* kNames[] = {"joined", "ready", "going", "ended", "stopped", "leaving"};
    return fmt::format("publish {}{}", kNames[static_cast<int>(one.news.phase)],
                       one.news.signal == 0 ? "" : " and the signal");
  }
  std::string operator()(const Say& one) const {
    constexpr const char* kNames[] = {"gather", "go", "stop", "end", "apart"};
    const auto decision = decision_from(one.word.text);
    REQUIRE(decision.has_value());
    std::string text = fmt::format("say {}.{} {}", one.word.generation, one.word.number,
                                   kNames[static_cast<int>(decision->order)]);
    if (decision->order == Order::go) text += " " + std::to_string(decision->attempt);
    if (decision->order == Order::end) text += " " + std::to_string(decision->exit_code);
    return text;
  }
  std::string operator()(const LeaveBoard&) const { return "leave"; }
  std::string operator()(const StartHere& one) const {
    return "start " + std::to_string(one.go.attempt);
  }
  std::string operator()(const StopHere& one) const {
    return one.signal == 0 ? std::string("stop") : fmt::format("stop by {}", one.signal);
  }
  std::string operator()(const KillHere&) const { return "kill"; }
  std::string operator()(const HoldLease&) const { return "hold"; }
  std::string operator()(const AttendHere& one) const {
    return fmt::format("attend {} {} {}", one.watch, one.question, one.count);
  }
  std::string operator()(const ReachOthers& one) const { return "reach " + one.doors; }
  std::string operator()(const AllReady&) const { return "all ready"; }
  std::string operator()(const NodeTold& one) const {
    return fmt::format("node {} told", one.seat);
  }
  std::string operator()(const NodeSilent& one) const {
    return fmt::format("node {} {}", one.seat, one.silent ? "silent" : "back");
  }
  std::string operator()(const AttemptOverEverywhere& one) const {
    return fmt::format("over everywhere {}", one.attempt);
  }
  std::string operator()(const TellUser&) const { return "tell"; }
  std::string operator()(const GoApart&) const { return "apart"; }
  std::string operator()(const EndHere& one) const {
    return "end with " + std::to_string(one.exit_code);
  }
};

/// One agent, of which only the decisions are real. It is confirmed unless a test says otherwise.
class AgentStory : public testing::Deeds<AgentAction> {
 public:
  AgentConfig config;
  TimePoint now = TimePoint{} + 1h;
  std::uint64_t generation = 1;
  std::uint64_t word = 0;  ///< the number of the newest word

  AgentStory() {
    config.claim = {.incarnation = "me", .seat = 1, .seats = 3, .job = "j", .host = "gpu-1"};
  }

  void on(const AgentEvent& event) {
    if (!machine_) machine_.emplace(config);
    for (AgentAction& action : machine_->on(event, now)) done_.push_back(std::move(action));
  }
  /// Time passes, and every deadline in it comes.
  void passes(Duration time) {
    const TimePoint end = now + time;
    while (machine_->deadline() && *machine_->deadline() <= end) {
      REQUIRE(*machine_->deadline() >= now);
      now = *machine_->deadline();
      const auto before = machine_->deadline();
      on(AgentTimePassed{});
      REQUIRE(machine_->deadline() != before);
    }
    now = end;
  }
  void confirmed() { on(Confirmed{now}); }
  void passes_confirmed(Duration time) {
    for (; time > 2s; time -= 2s) {
      passes(2s);
      confirmed();
    }
    passes(time);
    confirmed();
  }

  // A member.
  void sits(int seat = 1) {
    config.claim.seat = seat;
    on(Joins{});
    on(Seated{{seat, generation}});
    confirmed();
  }
  void hears(Decision decision) {
    ++word;
    on(WordCame{{generation, word, to_text(decision)}});
  }
  void is_called() {
    on(NewsHere{});
    hears({.order = Order::gather});
  }
  void is_sent_off(int attempt = 1) {
    const std::uint64_t gathered = word;
    hears({.order = Order::go, .attempt = attempt, .gathered = gathered, .profile = "basic"});
  }
  void goes(int attempt = 1) {
    sits();
    is_called();
    is_sent_off(attempt);
  }
  void is_over(int exit_code = 0, bool by_itself = true) {
    on(AttemptOverHere{{.attempt = 0, .exit_code = exit_code, .diagnosis = {}}, by_itself});
  }

  // The leader. The board takes its words at once.
  void leads() {
    config.claim.seat = 0;
    config.claim.host = "gpu-0";
    on(Joins{});
    on(Seated{{0, generation}});
    confirmed();
    echo();
  }
  /// The board has taken what was said.
  void echo() {
    while (true) {
      const auto said = all<Say>();
      if (said.size() <= echoed_) return;
      const Word newest = said[echoed_++].word;
      word = newest.number;
      on(WordCame{newest});
    }
  }
  void member(int seat, NodeNews news, const std::string& incarnation = "") {
    on(StandingCame{{seat, incarnation.empty() ? fmt::format("m{}", seat) : incarnation,
                     fmt::format("gpu-{}", seat), to_text(news)}});
    echo();
  }
  void member_is(int seat, NodePhase phase, std::optional<NodeEnd> end = {}) {
    member(seat, {.phase = phase, .attempt = 1, .heard = word, .end = std::move(end)});
  }
  void all_come() {
    on(NewsHere{});
    member_is(1, NodePhase::ready);
    member_is(2, NodePhase::ready);
  }
  void wants(int attempt = 1) {
    on(AttemptWanted{{.order = Order::go, .attempt = attempt, .profile = "basic"}});
    echo();
  }
  void leads_attempt() {
    leads();
    all_come();
    wants();
    member_is(1, NodePhase::going);
    member_is(2, NodePhase::going);
  }

  [[nodiscard]] std::string did_in_words() const {
    std::vector<std::string> words;
    for (const AgentAction& one : done_) words.push_back(std::visit(ActionWord{}, one));
    std::string text;
    for (const std::string& one : words) text += (text.empty() ? "" : ", ") + one;
    return text;
  }
  /// The deeds since the last look.
  [[nodiscard]] std::string deeds() {
    const std::string text = did_in_words();
    forget();
    return text;
  }
  void forget() {
    Deeds::forget();
    echoed_ = 0;
  }
  [[nodiscard]] std::string told() const {
    std::string text;
    for (const TellUser& one : all<TellUser>()) text += one.text + "\n";
    return text;
  }
  [[nodiscard]] std::string end_why() const {
    REQUIRE(all<EndHere>().size() == 1);
    return all<EndHere>().front().why;
  }
  [[nodiscard]] std::optional<NodeNews> last_news() const {
    const auto published = all<Publish>();
    return published.empty() ? std::nullopt : std::optional(published.back().news);
  }
  [[nodiscard]] AgentMachine& machine() { return *machine_; }

 private:
  std::optional<AgentMachine> machine_;
  std::size_t echoed_ = 0;
};

}  // namespace safelaunch::agree
