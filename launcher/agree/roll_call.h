#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "safelaunch/agree/board.h"
#include "safelaunch/agree/decision.h"
#include "safelaunch/base/time.h"

namespace safelaunch::agree {

/// The knowledge of the leader about all nodes, itself included, and how many of them are as far as
/// its last order wants them. Each piece of news costs the same however many nodes there are.
class RollCall {
 public:
  RollCall(int seats, Duration silent_after) : seats_(seats), silent_after_(silent_after) {}

  /// The holder of a seat has published this; nullopt: nothing yet.
  void note(const Standing& standing, std::optional<NodeNews> news, TimePoint now);
  void vacate(int seat, TimePoint now);

  /// All are called under this number: each is ready once it has told so for that word.
  void call(std::uint64_t word);
  /// The ready ones are sent off, by the word of this number.
  void send_off(std::uint64_t word);

  [[nodiscard]] bool is_here(int seat) const { return nodes_.contains(seat); }
  [[nodiscard]] bool all_here() const { return nodes_.size() == static_cast<std::size_t>(seats_); }
  [[nodiscard]] bool all_ready() const { return ready_ == seats_; }
  /// Nothing of the attempt runs on any node that was sent off.
  [[nodiscard]] bool all_over() const { return running_ == 0; }
  /// Whether no other node is here any more, or each is leaving.
  [[nodiscard]] bool alone() const;

  /// Why the attempt has failed on some node; empty: on none as yet.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] const std::set<int>& lost() const { return lost_; }
  /// Of an attempt that a signal has ended, where all of it is over: 0 if each node ended with 0,
  /// else the status of its own that a node has told, else the signal's, 128 + its number.
  [[nodiscard]] int status_after(int of_signal) const;
  /// The news of the other nodes, with an end each.
  [[nodiscard]] std::map<int, NodeNews> news_of_others() const;
  [[nodiscard]] std::map<int, Standing> standings_of_others() const;

  /// "3/4 nodes, waiting for node 2 (gpu-17), last heard 12s ago".
  [[nodiscard]] std::string waiting_for(TimePoint now) const;
  /// "node 2 (gpu-17)", by the host that was there last.
  [[nodiscard]] std::string name_of(int seat) const;
  [[nodiscard]] std::string host_of(int seat) const;
  /// The nodes that are not here, or not ready.
  [[nodiscard]] std::string missing() const;

 private:
  struct Node {
    Standing standing;
    std::optional<NodeNews> news;
    bool ready = false;
  };
  /// A node that has been sent off.
  struct Sent {
    std::string incarnation;
    bool running = true;
  };
  struct Gone {
    TimePoint heard{};
    bool left = false;
  };

  void judge(int seat);
  void judge_ready(Node& node);
  void judge_sent(int seat, Sent& sent);
  void take_over(Sent& sent);
  void fail(const std::string& why);

  const int seats_;
  const Duration silent_after_;
  std::map<int, Node> nodes_;
  std::map<int, std::string> hosts_;  ///< the hosts of all nodes that were ever here
  std::map<int, Gone> gone_;
  std::uint64_t called_ = 0;
  std::uint64_t sent_by_ = 0;  ///< the word that has sent the nodes off; 0: none has
  int ready_ = 0;
  std::map<int, Sent> sent_;
  int running_ = 0;
  std::set<int> lost_;
  /// Of the nodes on which the attempt is over; nullopt: it was over before it began there.
  std::set<std::optional<int>> exit_codes_;
  std::string failure_;
};

}  // namespace safelaunch::agree
