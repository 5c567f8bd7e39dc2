#pragma once

#include <functional>
#include <map>

#include "safelaunch/base/alarm.h"
#include "safelaunch/base/result.h"
#include "safelaunch/ranks/training_look.h"
#include "safelaunch/watch/hook_message.h"
#include "safelaunch/watch/stall.h"

/// Several nodes in training: the leader alone tells a standstill, and asks every node from time to
/// time how far its ranks have come.
namespace safelaunch::ranks {

/// The collectives of one rank over all its groups, as its hook counts them. The sums fit whatever
/// a hook claims, since it may be anybody's program.
[[nodiscard]] watch::Collectives sum_of(const std::map<std::string, watch::GroupCounters>& groups);

/// The answer of a hook, as `Stall` wants it.
struct RankCounted {
  watch::Collectives collectives;
  watch::Uncounted uncounted = watch::Uncounted::nothing;
  bool operator==(const RankCounted&) const = default;
};
[[nodiscard]] RankCounted counted_by(const watch::CountersAnswer& answer);

/// A node's answer to the leader's question.
struct NodeCounts {
  int question = 0;
  std::map<Rank, RankCounted> ranks{};    ///< those whose hooks have answered
  std::map<Rank, Activity> activities{};  ///< of its live ranks since the question before
  bool wrote = false;                     ///< the job has written there since then
  bool others_work = false;               ///< a process works there that is no rank's
  bool operator==(const NodeCounts&) const = default;
};

[[nodiscard]] std::string to_text(const NodeCounts& counts);
/// An agent of another version, or somebody hostile, may have written it: the error names the
/// field.
[[nodiscard]] Result<NodeCounts> counts_from(std::string_view text);

/// A member's part: asked by the leader, it looks at the ranks of this node, has their hooks asked,
/// and tells what it has found once all have answered, or cannot any more.
class CountRound {
 public:
  CountRound(boost::asio::io_context& io, const std::map<Rank, watch::RankState>& ranks,
             std::function<void(int)> ask, std::function<void(const NodeCounts&)> tell)
      : timer_(io), ranks_(ranks), ask_(std::move(ask)), tell_(std::move(tell)) {}

  /// The leader asks; it repeats its last question with each word of its own.
  void begin(int question);
  void answered(Rank rank, const watch::CountersAnswer& answer);
  void saw_output() { wrote_ = true; }

 private:
  void finish();

  Alarm timer_;
  const std::map<Rank, watch::RankState>& ranks_;
  std::function<void(int)> ask_;
  std::function<void(const NodeCounts&)> tell_;
  TrainingLook look_;
  std::optional<NodeCounts> open_;  ///< the question that is being answered
  int last_question_ = 0;
  bool wrote_ = false;
};

}  // namespace safelaunch::ranks
