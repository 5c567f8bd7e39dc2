#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <variant>

#include "safelaunch/agree/board.h"
#include "safelaunch/agree/decision.h"
#include "safelaunch/base/time.h"

namespace safelaunch::agree {

/// The configuration of an agent, given before it joins.
struct AgentConfig {
  Claim claim;
  Terms terms;
  /// How long missing nodes are waited for; then the run ends with 69 and their names.
  Duration start_within = std::chrono::minutes(10);
  /// How long an agent whose ranks have run waits for a board or a leader that is gone. It may come
  /// back, but the job has most likely ended without this node by then.
  Duration back_within = std::chrono::seconds(30);
  /// Where it is not certain that every node has an agent: after so long without all of them the
  /// leader lets each agent run apart. nullopt: never.
  std::optional<Duration> apart_after{};
  /// Random, and different on each node, so that agents that wait for the same thing do not speak
  /// at once.
  std::uint64_t seed = 0;
};

// The events: those of the board (board.h), and from this node's run:
/// The agent may claim its seat.
struct Joins {};
/// The checks of this node are over; this news is published from here on. Comes again when the news
/// changes.
struct NewsHere {
  NodeNews news;
};
/// The leader's run wants this attempt on every node.
struct AttemptWanted {
  Decision go;
};
/// The leader's run wants the attempt that runs to end, for this reason.
struct StopWanted {
  std::string why;
};
/// The leader's run is over on all nodes, and says how every agent ends.
struct EndWanted {
  int exit_code = 0;
  std::string why;
};
/// The leader's wish has changed: ranks wait somewhere, or none waits any longer, or it asks where
/// they stand, or how far they have come, or it has something to tell the attempt of every node.
struct AttentionWanted {
  bool watch = false;
  int question = 0;
  std::string note{};
  int count = 0;
};
/// To the leader, before the first attempt: all nodes are ready, and shall try to reach each other
/// at these doors. An AttemptWanted that follows waits until each is ready again.
struct ReachWanted {
  std::string doors;
};
/// Nothing of the attempt runs here any more. Comes once after each StartHere, also where the
/// attempt could not be started.
struct AttemptOverHere {
  NodeEnd end;
  bool by_itself = true;
};
/// A person, or the scheduler, wants the job to end. The run has passed the signal on to the
/// attempt that runs here, if one does; AttemptOverHere follows.
struct SignalHere {
  int signal = 0;
};
/// The machine's deadline has come.
struct AgentTimePassed {};

using AgentEvent =
    std::variant<Joins, Seated, Parked, Confirmed, WordCame, StandingCame, SeatVacated, Unseated,
                 Unreachable, Refused, TurnedAway, NewsHere, AttemptWanted, StopWanted, EndWanted,
                 AttentionWanted, ReachWanted, AttemptOverHere, SignalHere, AgentTimePassed>;

// The actions. At the board:
struct ClaimSeat {
  Claim claim;
};
struct Publish {
  NodeNews news;
};
struct Say {
  Word word;
};
struct LeaveBoard {};
// In this node's run:
/// Start this attempt; AttemptOverHere follows.
struct StartHere {
  Decision go;
};
/// End the attempt gracefully; AttemptOverHere follows. Comes a second time, with a signal, where
/// the signal was sent twice.
struct StopHere {
  std::string why;
  int signal = 0;
};
/// The lease is over: kill what runs, now. AttemptOverHere follows.
struct KillHere {
  std::string why;
};
/// The ranks may live until then (for the guardian, should this process be stopped).
struct HoldLease {
  TimePoint until;
};
/// Publish from now on what this node's ranks do, or stop publishing it; and answer these
/// questions. Only members get it: the leader's own run has wanted it.
struct AttendHere {
  bool watch = false;
  int question = 0;
  std::string note{};
  int count = 0;
  bool operator==(const AttendHere&) const = default;
};
/// Try to reach the other nodes at these doors, and publish what came of it.
struct ReachOthers {
  std::string doors;
};
/// To the leader's run: all nodes are there and ready; AttemptWanted may come. Before each attempt;
/// an AttemptWanted that comes earlier, or while a node is away again, is kept until all are ready.
/// `standings`: of the other nodes.
struct AllReady {
  std::map<int, Standing> standings;
};
/// To the leader's run: news of another node. `news` is what it published.
struct NodeTold {
  int seat = 0;
  std::string host;
  NodeNews news;
};
/// To the leader's run: the agent of a node has fallen silent, or is heard again.
struct NodeSilent {
  int seat = 0;
  std::string host;
  bool silent = true;
};
/// To the leader's run: the attempt is over on every node. `news`: what the other nodes have told,
/// each with its end; `lost`: nodes that are gone, have come anew meanwhile, or had to kill their
/// ranks.
struct AttemptOverEverywhere {
  int attempt = 0;
  std::map<int, NodeNews> news;
  std::set<int> lost;
};
/// A line for the user.
struct TellUser {
  std::string text;
};
/// Run on, without agreement.
struct GoApart {
  std::string why;
};
/// End the run of this node with this status, for this reason.
struct EndHere {
  int exit_code = 0;
  std::string why;
};

using AgentAction = std::variant<ClaimSeat, Publish, Say, LeaveBoard, StartHere, StopHere, KillHere,
                                 HoldLease, AttendHere, ReachOthers, AllReady, NodeTold, NodeSilent,
                                 AttemptOverEverywhere, TellUser, GoApart, EndHere>;

class Agent;

/// Decides what one agent does so that all agree; the run performs it. The same machine serves the
/// leader (seat 0) and the members. Pure: the time is handed in.
///
///     joining ── seated ──→ joined ── NewsHere ──→ ready ── go ──→ going ── own end ──→ ended ─┐
///        └── all seats taken: parked (a spare)        ↑              └── stop ─→ stopped       │
///                                                     └──── gather: nothing runs any more ────┘
///     in every state: word `end` → (stopping) → over; lease over → what runs is killed → lost;
///     lost → confirmed again with the same seat → ready (what ran is reported as killed);
///     lost, or without a leader, for start_within → over, 69
///     the leader's words: gather ── all ready, AttemptWanted ─→ go ── (stop) ── over everywhere ─→
///     gather …; in every state: end
///
/// These rules hold whatever fails (tests/unit/agree/simulation_test.cc shows it):
///   - never two attempts of one rank: an agent starts attempt k only on the present leader's word,
///     with its lease confirmed, and while nothing of an earlier one runs here; the leader says `go`
///     only when each seat's present holder has published that nothing runs there, and only those
///     holders start on it (Decision::gathered);
///   - all agents that go on agree on attempt, profile, port and layout: they take them from one
///     word.
class AgentMachine {
 public:
  explicit AgentMachine(AgentConfig config);
  AgentMachine(AgentMachine&&) noexcept;
  AgentMachine& operator=(AgentMachine&&) noexcept;
  ~AgentMachine();

  [[nodiscard]] std::vector<AgentAction> on(const AgentEvent& event, TimePoint now);

  /// When AgentTimePassed is to come; nullopt while there is nothing to wait for.
  [[nodiscard]] std::optional<TimePoint> deadline() const;

  [[nodiscard]] bool leads() const;
  [[nodiscard]] std::optional<int> seat() const;

 private:
  std::unique_ptr<Agent> agent_;
};

}  // namespace safelaunch::agree
