#pragma once

#include "leader.h"
#include "safelaunch/agree/agent_machine.h"
#include "waiting_pace.h"

namespace safelaunch::agree {

/// An agent as a state machine, the inside of an AgentMachine. Each event only notes what has
/// happened; follow() then does what the state as a whole asks for, so the order of events does not
/// matter: an agent that hears a word before its lease is confirmed acts as one that hears it
/// after.
class Agent {
 public:
  explicit Agent(AgentConfig config) : config_(std::move(config)), pace_(~config_.seed) {}

  [[nodiscard]] std::vector<AgentAction> on(const AgentEvent& event, TimePoint now);
  [[nodiscard]] std::optional<TimePoint> deadline() const;
  [[nodiscard]] bool leads() const { return leader_.has_value(); }
  [[nodiscard]] std::optional<int> seat() const;

 private:
  enum class Stand {
    out,       ///< it has not joined yet
    claiming,  ///< it wants a seat
    parked,    ///< others have the seats
    seated,
    lost,  ///< it holds a seat, and its lease is over
    over,
  };
  /// A word that has been read.
  struct Heard {
    std::uint64_t generation = 0;
    std::uint64_t number = 0;
    Decision decision;
  };
  struct WordId {
    std::uint64_t generation = 0;
    std::uint64_t number = 0;
    bool operator==(const WordId&) const = default;
  };
  /// The attempt that runs here.
  struct Running {
    int attempt = 0;
    WordId called;  ///< the word that gathered for it
    AttendHere attends;
    bool stopping = false;
    bool hurried = false;
    bool killed = false;
  };
  /// The run of this node is to end so, once nothing runs.
  struct Ending {
    int exit_code = 0;
    std::string why;
    int signal = 0;
    bool apart = false;
    bool hurry = false;
  };

  void take(const Joins& event, TimePoint now);
  void take(const Seated& event, TimePoint now);
  void take(const Parked& event, TimePoint now);
  void take(const Confirmed& event, TimePoint now);
  void take(const WordCame& event, TimePoint now);
  void take(const StandingCame& event, TimePoint now);
  void take(const SeatVacated& event, TimePoint now);
  void take(const Unseated& event, TimePoint now);
  void take(const Unreachable& event, TimePoint now);
  void take(const Refused& event, TimePoint now);
  void take(const TurnedAway& event, TimePoint now);
  void take(const NewsHere& event, TimePoint now);
  void take(const AttemptWanted& event, TimePoint now);
  void take(const StopWanted& event, TimePoint now);
  void take(const EndWanted& event, TimePoint now);
  void take(const AttentionWanted& event, TimePoint now);
  void take(const ReachWanted& event, TimePoint now);
  void take(const AttemptOverHere& event, TimePoint now);
  void take(const SignalHere& event, TimePoint now);
  void take(const AgentTimePassed& event, TimePoint now);

  void lose_lease_in_time(TimePoint now);
  void lose_seat(const std::string& why);
  void kill(const std::string& why);
  void stop(const std::string& why, int signal);
  void hurry();
  void end(Ending ending);

  void follow(TimePoint now);
  void follow_word();
  void follow_gather(const Heard& word);
  void follow_go(const Heard& word);
  void follow_stop(const Heard& word);
  void attend(const Decision& go);
  void watch_the_time(TimePoint now);
  void end_in_time(TimePoint now);
  void claim_again();
  void publish(TimePoint now);
  void lead(TimePoint now);
  void finish(TimePoint now);

  [[nodiscard]] const Heard* present_word() const;
  [[nodiscard]] bool is_confirmed() const { return stand_ == Stand::seated && lease_; }
  [[nodiscard]] bool is_alone() const;
  [[nodiscard]] bool is_superfluous() const;
  [[nodiscard]] bool may_go_apart() const { return config_.apart_after && !ever_started_; }
  [[nodiscard]] Duration patience() const;
  [[nodiscard]] std::string waits_for() const;
  [[nodiscard]] std::optional<TimePoint> gives_up_at() const;
  [[nodiscard]] NodeNews news() const;

  AgentConfig config_;
  WaitingPace pace_;
  Stand stand_ = Stand::out;
  bool claimed_ = false;      ///< the board knows of this agent, or will
  bool claims_next_ = false;  ///< claims a seat again as soon as nothing runs
  std::optional<Seat> seat_;
  std::optional<TimePoint> lease_;  ///< when the lease ends
  std::optional<Leader> leader_;    ///< the leader's part, while this agent leads
  bool leader_here_ = false;        ///< some agent leads, as far as this one has heard
  /// The run's last wish for the other nodes; kept while this agent gets its seat anew.
  std::optional<Decision> wanted_;
  /// The user was told that the board cannot be reached, since it was last heard.
  bool unreachable_ = false;
  std::string trouble_;  ///< why the board could last not be reached
  std::string parked_why_;
  std::optional<TimePoint> alone_since_;

  std::optional<Heard> word_;  ///< the newest word
  NodePhase phase_ = NodePhase::joined;
  int attempt_ = 0;
  std::uint64_t heard_ = 0;
  /// The word for which this agent told that it is ready, since it took the seat.
  std::optional<WordId> ready_for_;
  /// The last word for which this agent tried to reach the others.
  std::optional<WordId> reached_for_;
  std::optional<NodeEnd> end_of_attempt_;
  std::optional<Running> running_;
  bool ever_started_ = false;

  NodeNews news_;  ///< the part of the news that comes from the run
  bool checked_ = false;
  std::optional<NodeNews> published_;
  int signal_ = 0;
  bool hurry_ = false;  ///< the signal came twice
  TimePoint signalled_{};
  std::optional<Ending> ending_;
  std::vector<AgentAction> actions_;
};

}  // namespace safelaunch::agree
