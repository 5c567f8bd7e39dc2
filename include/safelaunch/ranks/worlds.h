#pragma once

#include <map>
#include <set>
#include <span>

#include "safelaunch/base/event.h"
#include "safelaunch/watch/observer.h"
#include "safelaunch/watch/stages.h"

namespace safelaunch::ranks {

/// Tells the launcher's world from the worlds below its ranks. A rank may run a search by a
/// torchrun of its own, a self-check by mp.spawn, or an engine of several processes: these meet at
/// another store, under numbers of their own, and all that they do is the work of the rank above
/// them. Pure: it is told what a hook says, and the processes above the one that speaks.
///
/// A process is below a rank where its world meets at another place than the rank's own world, or
/// than the store that the launcher gave to the rank. One case is open at first: a single process
/// below each rank, with the rank's own number, may be all the ranks of a launcher whose wrappers
/// choose a store of their own. Its events are held back until a second such process, below another
/// rank, has come to the same place.
class Worlds {
 public:
  /// `outer`: the identity that safelaunch itself was given, a node's number perhaps, which all
  /// processes of the job inherit.
  explicit Worlds(std::optional<watch::RankIdentity> outer = std::nullopt) : outer_(outer) {}

  /// Whether `line` is needed for the event in sort().
  [[nodiscard]] static bool wants_line(ProcessId process, const Event& event,
                                       const watch::Stages& stages);

  /// The events that tell of the launcher's ranks: `event` itself, or none, or all that was held
  /// back. `line` goes upwards from the process that speaks (watch::line_of()).
  [[nodiscard]] std::vector<Event> sort(ProcessId process, const Event& event,
                                        std::span<const watch::ProcessOfRank> line,
                                        const watch::Stages& stages);

  [[nodiscard]] bool is_below(ProcessId process) const { return below_.contains(process); }
  void ended(ProcessId process);

  /// A process below a rank has finished a collective: the job may have trained.
  [[nodiscard]] bool trained() const { return trained_; }

  /// The worlds in which somebody waits below that rank, in words; empty: there are none.
  [[nodiscard]] std::string words(Rank rank) const;

 private:
  /// A process below a rank.
  struct Below {
    ProcessId above{};           ///< the rank's process, or its wrapper
    bool above_has_met = false;  ///< that process has entered a world itself
    Rank rank{};                 ///< the rank's number
    Rank number{};               ///< its own number, in its world
    std::string meets{};
    std::optional<int> world_size{};
    std::set<Stage> waits{};
    std::vector<Event> held{};
  };
  enum class Kind { open, launchers, below };

  [[nodiscard]] std::optional<Below> place_of(const StageEntered& event,
                                              std::span<const watch::ProcessOfRank> line,
                                              const watch::Stages& stages) const;
  [[nodiscard]] std::optional<Below> place_of(const RankStarted& event,
                                              std::span<const watch::ProcessOfRank> line) const;
  [[nodiscard]] const watch::ProcessOfRank* rank_above(
      std::span<const watch::ProcessOfRank> line) const;
  void judge(const Below& newest);
  [[nodiscard]] std::vector<Event> release(const std::string& meets);
  void follow(Below& one, const Event& event);

  std::optional<watch::RankIdentity> outer_;
  std::map<ProcessId, Below> below_;
  std::map<std::string, Kind> kinds_;  // by the place where a world meets
  bool trained_ = false;
};

}  // namespace safelaunch::ranks
