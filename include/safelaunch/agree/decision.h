#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "safelaunch/base/result.h"

/// The messages between agents, as values. On the board each is JSON.
namespace safelaunch::agree {

/// The next step that the leader orders all agents to take.
enum class Order {
  gather,  ///< come, and tell when you are ready; nothing runs
  go,      ///< run this attempt
  stop,    ///< end this attempt; another one may follow
  end,     ///< end the run
  apart,   ///< no agreement is to be had: each agent runs on its own, as without one
};

/// The leader's word.
struct Decision {
  Order order = Order::gather;
  int attempt = 0;  ///< the attempt to run, or to end; 0: none yet
  /// go: number of the word that called the agents which it is for. An agent starts only if it has
  /// told that it is ready for that very word: the others have come later.
  std::uint64_t gathered = 0;
  std::string profile{};  ///< the name of the attempt's profile
  /// Go: how many ranks each node has, where safelaunch spawns them; else empty.
  std::vector<int> workers{};
  std::string master_addr{};  ///< go: where rank 0 listens
  int master_port = 0;        ///< go: the port where rank 0 listens; 0: the command's own
  /// Go: the checkpoint from which every node's script goes on; empty: none.
  std::string checkpoint{};
  /// Go: the interface for NCCL and gloo on every node; empty: their own choice.
  std::string interface {};
  int exit_code = 0;   ///< end: the exit status of every agent
  int signal = 0;      ///< stop, end: the signal that a person or Slurm sent; 0: none
  bool hurry = false;  ///< end: the end was asked for twice, so nobody waits for anything
  std::string why{};   ///< stop, end: the reason in words, with the node
  /// gather: where every node can be reached, JSON made by the run. Each agent tries to reach the
  /// others there and publishes what came of it, once for each such word. Empty: nothing to do.
  std::string doors{};
  /// Ranks wait somewhere: every agent looks at what its own do, and publishes it.
  bool watch = false;
  /// The number of the last question where the ranks stand; an agent answers each number once.
  int question = 0;
  /// go: what the leader's run tells the attempt of every node, JSON made by the run. It may change
  /// while the attempt runs.
  std::string note{};
  /// The number of the last question how many collectives the ranks have finished.
  int count = 0;
  bool operator==(const Decision&) const = default;
};

/// How an agent stands.
enum class NodePhase {
  joined,   ///< it has a seat, and checks its host
  ready,    ///< nothing runs; it can start the attempt that is decided
  going,    ///< an attempt runs
  ended,    ///< its attempt has ended by itself, and nothing of it runs
  stopped,  ///< its attempt was ended as decided, and nothing of it runs
  leaving,  ///< its run is over
};

/// How an attempt ended on one node.
struct NodeEnd {
  int attempt = 0;
  int exit_code = 0;
  /// The failure and its diagnosis, as JSON of report/record.h; empty: it went well, or was told to
  /// stop.
  std::string diagnosis{};
  /// Its own agent killed it, because the board had not confirmed the agent in time: it had not
  /// failed.
  bool killed = false;
  std::string trouble{};  ///< why it could not be started; empty: it was
  bool operator==(const NodeEnd&) const = default;
};

/// The news that an agent publishes.
struct NodeNews {
  NodePhase phase = NodePhase::joined;
  int attempt = 0;          ///< the attempt that runs, or the last that ran
  std::uint64_t heard = 0;  ///< the number of the last word whose order the agent has followed
  int workers = 0;          ///< how many ranks this node is to start; 0: not known
  int port = 0;             ///< from node 0: a free port for the next attempt
  std::string facts{};      ///< this node's facts, JSON made by the run
  std::string doors{};      ///< the doors where this node can be reached, JSON made by the run
  std::string ways{};       ///< how it reached the others, JSON made by the run
  std::vector<std::string> findings{};  ///< the findings of this node's checks, a line each
  bool blocked = false;                 ///< a finding of this node forbids the run
  int signal = 0;                ///< the signal by which a person wants the job to end; 0: none
  bool hurry = false;            ///< that person has asked twice
  std::optional<NodeEnd> end{};  ///< the end of `attempt`, once it has ended
  std::string ranks{};           ///< a snapshot of what the node's ranks do, JSON made by the run
  int answered = 0;              ///< the number of the question that `answers` answers
  std::string answers{};         ///< the places where its ranks stand, JSON made by the run
  std::string counts{};          ///< how far they have come in training, JSON made by the run
  bool operator==(const NodeNews&) const = default;
};

[[nodiscard]] std::string to_text(const Decision& decision);
[[nodiscard]] std::string to_text(const NodeNews& news);
/// Both read text that another version, or a hostile peer, may have written. A field that is
/// missing, or of another type, is an error that names the field.
[[nodiscard]] Result<Decision> decision_from(std::string_view text);
[[nodiscard]] Result<NodeNews> news_from(std::string_view text);

}  // namespace safelaunch::agree
