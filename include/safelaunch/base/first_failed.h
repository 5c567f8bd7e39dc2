#pragma once

#include <optional>
#include <set>
#include <vector>

#include "safelaunch/base/event.h"

/// Which rank failed first: decided here alone, whoever tells of it. The diagnosis gathers signs
/// from exceptions, exits and the launcher's words; the report has the exits of its record.
namespace safelaunch {

/// The end of a rank, as far as it bears on who was first.
struct RankEnd {
  Rank rank;
  bool failed = false;    ///< it is known to have ended badly
  bool followed = false;  ///< for another's failure
};

/// All that points at a rank. What nobody has seen is empty.
struct FirstSigns {
  std::optional<Rank> shows_cause{};   ///< its own lines show the cause that was found
  std::optional<Rank> raised_cause{};  ///< its exception is a reason, not the loss of a peer
  std::vector<RankEnd> ended{};        ///< in order of time
  std::optional<Rank> told{};          ///< by the launcher
  std::optional<Rank> raised{};        ///< the first exception at all came from it
};

/// The rank that failed first. A rank's own words on the reason count most, since ranks may end in
/// another order than they failed. Then comes the first end that followed no other; of several that
/// all followed the first that failed, and where no status is known the first end at all. The
/// launcher's word counts where no end was seen, and an exception of a victim last.
[[nodiscard]] std::optional<Rank> first_failed(const FirstSigns& signs);

/// Ends in order of time, with who followed: the ranks that only lost a peer, and those that the
/// launcher ended with SIGTERM because another had failed. The first to end followed nobody's end.
[[nodiscard]] std::vector<RankEnd> ends_of(const std::vector<RankExited>& ended,
                                           const std::set<Rank>& lost_a_peer);

/// Whether a rank of whose failure the launcher tells failed before all ends that were seen: they
/// tell nothing of how they came about, or were the launcher's answer to that failure.
[[nodiscard]] bool failed_unseen(Rank told, const std::vector<RankExited>& ended);

}  // namespace safelaunch
