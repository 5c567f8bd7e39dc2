#pragma once

#include <array>
#include <map>

#include "safelaunch/base/event.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"
#include "safelaunch/ranks/rank_questions.h"
#include "safelaunch/watch/rank_state.h"

/// Several nodes: the picture that an agent publishes of its ranks, and the events that the leader
/// takes from it. Only the newest picture of a node is kept on the board, so the leader takes the
/// differences of two pictures for events.
namespace safelaunch::ranks {

/// One rank of a node, as its agent sees it.
struct RankPicture {
  Rank rank;
  ProcessId process{};  ///< the process on its own node
  std::optional<int> world{};
  std::string store{};  ///< the store at which it meets the others: "host:port"
  std::array<bool, kStageCount> entered{};
  std::array<bool, kStageCount> reached{};
  std::vector<Rank> awaits{};
  std::string group{};    ///< the group that it makes
  bool prepares = false;  ///< NCCL has begun in it, and waits for nobody yet
  bool blind = false;     ///< no hook speaks for it
  Activity activity = Activity::unseen;
  std::string doing{};
  bool ended = false;
  std::optional<ExitStatus> status{};  ///< known once it has ended, if at all
  std::optional<RankRaised> raised{};
  bool operator==(const RankPicture& other) const;
};

/// The ranks that this node runs, without those of others.
[[nodiscard]] std::vector<RankPicture> picture_of(const std::map<Rank, watch::RankState>& ranks,
                                                  TimePoint now);

/// All ranks of a node, during one attempt: a picture of an earlier one may come late.
struct NodePicture {
  int attempt = 0;
  std::vector<RankPicture> ranks{};
  bool operator==(const NodePicture&) const = default;
};

[[nodiscard]] std::string to_text(const NodePicture& picture);
/// An agent of another version, or somebody hostile, may have written it: at most kMostRanksOfANode
/// ranks, and an error that names the field.
[[nodiscard]] Result<NodePicture> picture_from(std::string_view text);

/// The node of an agent's ranks, for its leader.
struct NodeName {
  int seat = 0;
  std::string host;
};

/// The events of a node between two pictures, in the order of the stages.
[[nodiscard]] std::vector<Event> events_between(const NodeName& node,
                                                const std::vector<RankPicture>& before,
                                                const std::vector<RankPicture>& now);

/// The activities of the live ranks of a picture, with the node's name.
[[nodiscard]] std::vector<RankActivity> activities_of(const NodeName& node,
                                                      const std::vector<RankPicture>& ranks);

}  // namespace safelaunch::ranks
