#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "launcher/agree/board_core.h"
#include "safelaunch/agree/agent_machine.h"
#include "simulator.h"

/// The parts of the simulator. Agents, their ranks and guardians, their connections and the board
/// live in simulated time; a fault is a plain event like all others. Each rule is checked where it
/// could break.
namespace safelaunch::agree::simulated {

using namespace std::chrono_literals;
using Peer = BoardCore::Peer;

// Shorter than the real ones, so that a schedule is short.
inline constexpr Terms kTerms{.lease = 3s, .renew_every = 1s, .kill_margin = 1s};
inline constexpr Duration kStartWithin = 8s;
inline constexpr Duration kFaults = 14s;  ///< no fault begins later, and all are healed soon after
inline constexpr Duration kHealed = 15s;
inline constexpr Duration kLongest = 150s;  ///< by then all must be over
inline constexpr Duration kAgreeWithin = 2s;
inline constexpr Duration kSlowestKill = 500ms;
inline constexpr Duration kAnswerWithin = 1500ms;  ///< a connection without an answer is given up

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_;
  }
  int below(int most) { return static_cast<int>(next() % static_cast<std::uint64_t>(most)); }
  bool chance(int percent) { return below(100) < percent; }
  Duration up_to(Duration most) { return Duration(below(static_cast<int>(most.count()) + 1)); }

 private:
  std::uint64_t state_;
};

enum class Direction { none, to_board, to_agent, both };

/// One schedule. Each idea of it has a source of its own: simulated_time.cc, simulated_board.cc,
/// simulated_network.cc, simulated_agent.cc, simulated_faults.cc and simulated_checks.cc;
/// simulator.cc sets it up and plays it.
class Simulation {
 public:
  Simulation(std::uint64_t seed, const Bugs& bugs, Tell tell)
      : random_(seed), bugs_(bugs), tells_(tell == Tell::all) {}

  Played play();

 private:
  struct Task {
    Duration at;
    std::uint64_t order;
    std::function<void()> run;
    bool operator<(const Task& other) const {
      return std::tie(other.at, other.order) < std::tie(at, order);
    }
  };

  enum class Ranks { none, alive, ending };

  /// One safelaunch: its process, its ranks, its connection.
  struct Agent {
    int id = 0;
    int host = 0;
    Claim claim;
    std::optional<AgentMachine> machine;
    double rate = 1;  ///< the rate of its clock
    bool alive = true;
    bool paused = false;
    bool over = false;
    bool parked = false;
    bool left = false;
    std::optional<EndHere> end;
    std::deque<std::function<void()>> missed;  ///< the calls that came while it was paused
    std::uint64_t wakes = 0;                   ///< the newest wake-up; earlier ones do not count
    // Its run.
    int attempt = 0;
    bool wants = false;
    NodeNews news;
    // Its ranks.
    Ranks ranks = Ranks::none;
    int runs = 0;             ///< counts its starts
    bool unreported = false;  ///< the agent has not heard of their end yet
    std::pair<std::uint64_t, int> of{};
    int seat_of_ranks = -1;
    Duration held_until{};
    // Its connection.
    Peer peer = 0;  ///< 0: none
    bool connecting = false;
    bool wants_board = false;
    bool seated = false;
    std::optional<std::string> text;
    std::optional<Word> word;
    bool says_again = false;
    std::map<std::uint64_t, Duration> asked;
    std::uint64_t questions = 0;
    Duration answered{};
    Duration last_in{}, last_out{};  ///< no message overtakes another
    Direction cut = Direction::none;
    Duration cut_until{};
    std::pair<std::uint64_t, std::uint64_t> heard{};
    std::uint64_t generation = 0;  ///< the generation of the word that it has heard last
  };

  // Time, and the clock of each.
  void at(Duration when, std::function<void()> run);
  void in(Duration delay, std::function<void()> run);
  [[nodiscard]] TimePoint clock_of(const Agent& agent) const;
  [[nodiscard]] Duration when(const Agent& agent, TimePoint time) const;
  [[nodiscard]] TimePoint board_clock() const;
  // The board.
  void open_board(const EarlierLife& earlier);
  void begin_board(Agent& keeper);
  void close_board(bool in_order);
  [[nodiscard]] bool board_paused() const;
  void at_board(const std::function<void()>& run);
  void tell(std::vector<BoardCore::Told> told);
  void wake_board();
  // Messages.
  Duration delay();
  [[nodiscard]] bool is_local(const Agent& agent) const;
  Duration arrival(const Agent& agent, Direction direction, Duration& last);
  void send_to_board(Agent& agent, wire::FromAgent message);
  void send_to_agent(Peer peer, wire::FromBoard message);
  // An agent's end of a connection.
  void connect(Agent& agent);
  void renew(Agent& agent, Peer peer);
  void broken(Agent& agent, const std::string& why);
  void lose(Peer peer);
  void came(Agent& agent, const Seated& message);
  void came(Agent& agent, const Parked& message);
  void came(Agent& agent, const wire::Confirms& message);
  void came(Agent& agent, const WordCame& message);
  void came(Agent& agent, const StandingCame& message);
  void came(Agent& agent, const SeatVacated& message);
  void came(Agent& agent, const Unseated& message);
  void came(Agent& agent, const Refused& message);
  void came(Agent& agent, const wire::LetsGo&);
  void forget_board(Agent& agent);
  // An agent's process.
  void process(Agent& agent, std::function<void()> run);
  void hand(Agent& agent, AgentEvent event);
  void wake(Agent& agent);
  // The actions of a machine.
  void perform(Agent& agent, const ClaimSeat&);
  void perform(Agent& agent, const Publish& publish);
  void perform(Agent& agent, const Say& say);
  void perform(Agent& agent, const LeaveBoard&);
  void perform(Agent& agent, const StartHere& start);
  void perform(Agent& agent, const StopHere&);
  void perform(Agent& agent, const KillHere&);
  void perform(Agent& agent, const HoldLease& hold);
  void perform(Agent& agent, const AttendHere& attend);
  void perform(Agent& agent, const ReachOthers&);
  void perform(Agent& agent, const AllReady&);
  void propose(Agent& agent);
  void perform(Agent& agent, const AttemptOverEverywhere& over);
  void perform(Agent& agent, const EndHere& end);
  void perform(Agent& agent, const GoApart&);
  void be_over(Agent& agent);
  template <class Told>
  void perform(Agent&, const Told&) {}
  // Ranks.
  void end_ranks(Agent& agent, Duration takes, int exit_code, bool by_itself);
  // Faults.
  void fail();
  void cut(Agent& agent, Direction direction, Duration lasts);
  void flap(Agent& agent, int times);
  void crash(Agent& agent);
  void pause(Agent& agent, Duration lasts);
  void go_on(Agent& agent);
  void interrupt(Agent& agent);
  void restart_board(Duration lasts);
  void heal();
  // The checks.
  void violate(const std::string& what);
  void check_seat(const Agent& holder, int seat);
  void check_start(const Agent& starter, const Decision& go, std::pair<std::uint64_t, int> attempt);
  void check_agreement();
  [[nodiscard]] bool agree() const;
  [[nodiscard]] bool all_over() const;
  void check_end();
  [[nodiscard]] std::string still_there() const;
  // Setting up.
  void set_up();
  void add_agent(int host, Duration delay);
  // The story.
  void note(const std::string& line);
  void note(const Agent& agent, std::size_t event);

  Random random_;
  const Bugs bugs_;
  const bool tells_;
  Played played_;
  Duration now_{};
  std::uint64_t order_ = 0;
  std::priority_queue<Task> queue_;

  int seats_ = 0;
  bool on_node_0_ = false;  ///< the board lives and dies with the agent of node 0
  bool apart_ = false;
  bool healed_ = false;
  bool agreed_ = false;
  Duration slowest_message_{};
  std::vector<std::unique_ptr<Agent>> agents_;

  std::optional<BoardCore> board_;
  Agent* keeper_ = nullptr;
  EarlierLife earlier_;
  int board_lives_ = 0;
  double board_rate_ = 1;
  std::optional<Duration> board_wake_;
  Peer peers_ = 0;
  std::map<Peer, Agent*> agent_of_peer_;
  std::map<std::pair<int, std::uint64_t>, TimePoint> asked_at_;
  std::map<int, Duration> ended_at_;
  std::map<std::pair<std::uint64_t, int>, std::tuple<std::string, int, std::vector<int>>> layouts_;
};

}  // namespace safelaunch::agree::simulated
