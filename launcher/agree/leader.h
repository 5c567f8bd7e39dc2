#pragma once

#include <cstdint>
#include <set>

#include "roll_call.h"
#include "safelaunch/agree/agent_machine.h"
#include "waiting_pace.h"

namespace safelaunch::agree {

/// The part of an agent that leads, while it holds seat 0: decides the next word by what all nodes
/// have told. It says a word only when the board has taken the one before, so none is left out. The
/// agent itself follows these words as every member does.
class Leader {
 public:
  Leader(const AgentConfig& config, std::uint64_t generation)
      : config_(config),
        generation_(generation),
        roll_(config.claim.seats, config.terms.lease + config.terms.kill_margin),
        pace_(config.seed) {}

  // The events. The board has confirmed the seat: every word of an earlier leader has come by now.
  void may_speak() { may_speak_ = true; }
  void heard(const Word& word);
  void note_own(const NodeNews& news, TimePoint now);
  void note(const Standing& standing, TimePoint now);
  void vacated(int seat, TimePoint now);
  void turned_away(const std::string& who_and_why);
  void want(const Decision& go);
  void want_stop(const std::string& why);
  void want_end(int exit_code, const std::string& why, int signal, TimePoint now);
  /// Somebody who wanted the end has asked again.
  void hurry();
  void attend(const AttentionWanted& wanted);
  void want_reach(const std::string& doors);

  /// The actions that are due now.
  [[nodiscard]] std::vector<AgentAction> step(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> deadline() const;

  struct End {
    int exit_code = 0;
    std::string why;
    int signal = 0;
    TimePoint wanted{};
    bool hurry = false;
  };
  [[nodiscard]] const std::optional<End>& end() const { return end_; }
  /// Whether all others have gone.
  [[nodiscard]] bool alone() const { return roll_.alone(); }

 private:
  void decide(TimePoint now);
  void gather(TimePoint now);
  void wait(TimePoint now);
  void send_to_doors();
  void start();
  void lead_attempt();
  void conclude();
  void lead_end();
  void say_end();
  void say(Decision decision);
  [[nodiscard]] std::optional<TimePoint> apart_at() const;

  AgentConfig config_;
  const std::uint64_t generation_;
  RollCall roll_;
  WaitingPace pace_;
  bool may_speak_ = false;
  std::uint64_t number_ = 0;          ///< the number of the newest word
  std::optional<Decision> decision_;  ///< the decision that the newest word holds
  bool taken_ = false;                ///< the board has taken the newest word
  bool announced_ = false;            ///< the run was told that all nodes are ready
  bool started_ = false;              ///< some attempt was started
  std::optional<TimePoint> incomplete_since_;
  std::optional<Decision> wanted_;
  std::optional<std::string> doors_;  ///< the doors to be told once all nodes are ready
  std::optional<std::string> stop_;
  std::optional<End> end_;
  AttentionWanted attention_;
  std::set<int> silent_;
  /// Agents that were turned away, each once, the first ones.
  std::vector<std::string> turned_away_;
  std::vector<AgentAction> actions_;
};

}  // namespace safelaunch::agree
