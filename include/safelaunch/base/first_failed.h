#pragma once

#include <set>

#include "safelaunch/base/event.h"

/// This file alone decides which rank failed first. The diagnosis gathers the signs from
/// exceptions, exits and the launcher's words; the report takes the exits of its record.
namespace safelaunch {

/// The end of a rank, as far as it bears on the question which rank was first.
struct RankEnd {
  Rank rank;
  bool failed = false;    ///< the rank is known to have ended badly
  bool followed = false;  ///< the rank ended because another had failed
};

/// Everything that points at a rank. A sign that nobody has seen is empty.
struct FirstSigns {
  std::optional<Rank> shows_cause{};  ///< the rank whose own lines show the cause that was found
  /// The rank whose exception is a reason, not the loss of a peer.
  std::optional<Rank> raised_cause{};
  std::vector<RankEnd> ended{};  ///< the ends of ranks, in order of time
  std::optional<Rank> told{};    ///< the rank that the launcher names
  std::optional<Rank> raised{};  ///< the rank from which the first exception of all came
};

/// The rank that failed first. A rank's own words on the reason count most, since ranks may end in
/// another order than they failed. Then comes the first end that followed no other; of several that
/// all followed the first that failed, and where no status is known the first end at all. The
/// launcher's word counts where no end was seen, and an exception of a victim last.
[[nodiscard]] std::optional<Rank> first_failed(const FirstSigns& signs);

/// The ends in order of time, each with the mark whether it followed another. A rank followed if it
/// only lost a peer, or if the launcher ended it with SIGTERM because another had failed. The first
/// to end followed nobody.
[[nodiscard]] std::vector<RankEnd> ends_of(const std::vector<RankExited>& ended,
                                           const std::set<Rank>& lost_a_peer);

/// Whether the rank that the launcher names failed before all ends that were seen. It did where
/// these ends have no known status, or were the launcher's answer to that failure.
[[nodiscard]] bool failed_unseen(Rank told, const std::vector<RankExited>& ended);

}  // namespace safelaunch
