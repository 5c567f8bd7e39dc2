#pragma once

#include <array>
#include <variant>

#include "safelaunch/base/time.h"
#include "safelaunch/probe/verdict.h"

namespace safelaunch::probe {

/// How long each phase may take, from when the last rank has entered it, and an abort after it.
struct Limits {
  using Seconds = std::chrono::seconds;

  /// In the order of the phases. cuInit takes ten seconds and more where eight GPUs have to be
  /// woken (no persistence mode), NCCL's init with them as much again.
  std::array<Duration, kProbePhaseCount> of{Seconds(30), Seconds(15), Seconds(10), Seconds(10),
                                            Seconds(30), Seconds(20), Seconds(5),  Seconds(30)};

  /// To abort a communicator takes NCCL 10 ms; a GPU that is being reset may be slower.
  Duration abort_grace = Seconds(1);

  [[nodiscard]] Duration operator[](Phase phase) const {
    return of[static_cast<std::size_t>(phase)];
  }
  [[nodiscard]] Duration& operator[](Phase phase) { return of[static_cast<std::size_t>(phase)]; }
};

/// The ranks that one node has in a probe over several: `first` and those behind it, of `all`.
struct Part {
  int first = 0;
  int all = 0;  ///< 0: no other node takes part
  [[nodiscard]] bool has_others() const { return all > 0; }
};

/// A rank wrote a line.
struct RankReported {
  int rank = 0;
  PhaseReport report;
};

/// A rank's process has ended, or was given up.
struct RankEnded {
  int rank = 0;
  std::string how;  ///< "killed by SIGSEGV", …
};

/// Somebody needs the GPUs now.
struct Unwanted {
  std::string why;
};

/// The deadline that was asked for has come.
struct TimePassed {};

/// Several nodes: all ranks of all nodes are ready, and this is the id that rank 0 has made.
struct IdCame {
  std::string id;
};
/// Several nodes: all ranks have measured, or those of another node have failed.
struct OthersOver {};

using Event = std::variant<RankReported, RankEnded, Unwanted, TimePassed, IdCame, OthersOver>;

/// Several nodes: the ranks of this one are ready to meet the others. `id` is rank 0's, where it is
/// here, else empty.
struct TellReady {
  std::string id;
  bool operator==(const TellReady&) const = default;
};
/// Several nodes: the ranks of this one have measured.
struct TellMeasured {
  bool operator==(const TellMeasured&) const = default;
};
/// Several nodes: ranks of this one have failed, or hang. It is told before they are aborted, which
/// those of other nodes see as a failure of their own.
enum class Trouble { none, failed, hung };
struct TellTrouble {
  Trouble trouble = Trouble::none;
  bool operator==(const TellTrouble&) const = default;
};
/// The id of the communicator is to be given to all ranks but 0.
struct HandOutId {
  std::string id;
  bool operator==(const HandOutId&) const = default;
};
/// All ranks have measured: they may take the communicator down.
struct LetRanksEnd {
  bool operator==(const LetRanksEnd&) const = default;
};
/// Ranks that live are to abort their communicator: within 10 ms NCCL comes back from waiting for
/// a rank that never comes, and leaves nothing behind.
struct AbortRanks {
  bool operator==(const AbortRanks&) const = default;
};
/// And those that do not are to be killed.
struct KillRanks {
  bool operator==(const KillRanks&) const = default;
};
/// All processes have ended; the verdict stands.
struct Done {
  bool operator==(const Done&) const = default;
};

using Action = std::variant<HandOutId, LetRanksEnd, AbortRanks, KillRanks, Done, TellReady,
                            TellMeasured, TellTrouble>;

/// Decides what a probe of one profile does. A pure value: no process, no clock.
///
///     running ─ all have measured ─→ ending ──────────┐
///        ├── a rank failed ─→ settling ─ 300 ms ─┐    │ 2 s
///        ├── a phase's deadline ─────────────────┴→ aborting ─ 1 s ─→ killing
///        └── unwanted, declined ─────────────────────┘
///     any ── the last process has ended ─→ done
///
/// One deadline at a time is enough: that of the phase in which the last rank is. Ranks in
/// a later phase wait for the one that is late and are not blamed.
///
/// Over several nodes each has a Run of its own ranks. It has no deadline while it waits for other
/// nodes: from TellReady to IdCame, and from TellMeasured to OthersOver, which ends it in every
/// state. So a driver that is slow on one node uses up nobody else's deadline.
class Run {
 public:
  Run(int ranks, const Limits& limits, TimePoint now, const Part& part = {});

  [[nodiscard]] std::vector<Action> on(const Event& event, TimePoint now);

  /// When TimePassed is to come; nullopt while there is nothing to wait for but ends.
  [[nodiscard]] std::optional<TimePoint> deadline() const { return deadline_; }

  /// The verdict so far; final once Done was told.
  [[nodiscard]] Verdict verdict() const;

  /// The verdict is Hung only because another node was over first: it tells how far this one was.
  [[nodiscard]] bool was_cut_short() const { return cut_short_; }

 private:
  enum class State { running, measured, settling, ending, aborting, killing, done };
  struct RankState {
    int phases_done = 0;
    bool failed = false;
    bool ended = false;
    std::array<double, kProbePhaseCount> ms{};
    double gb_per_s = 0;
  };
  using Actions = std::vector<Action>;

  Actions take(const RankReported& event, TimePoint now);
  Actions take(const RankEnded& event, TimePoint now);
  Actions take(const Unwanted& event, TimePoint now);
  Actions take(const TimePassed& event, TimePoint now);
  Actions take(const IdCame& event, TimePoint now);
  Actions take(const OthersOver& event, TimePoint now);
  Actions phase_done(RankState& rank, const RankReported& event, TimePoint now);
  [[nodiscard]] bool lacks_id(const RankReported& event) const;
  Actions failed(int rank, Phase phase, const std::string& words, TimePoint now);
  void settle(TimePoint now);
  [[nodiscard]] Actions tell(Trouble trouble) const;
  Actions all_measured(TimePoint now);
  Actions let_ranks_end(TimePoint now);
  Actions untold(const std::string& why, TimePoint now);
  Actions give_up(TimePoint now);
  Actions abort(TimePoint now);
  [[nodiscard]] bool is_open() const;
  [[nodiscard]] bool is_ready() const;
  [[nodiscard]] int last_phases_done() const;
  [[nodiscard]] Hung hung() const;
  [[nodiscard]] Works works() const;
  [[nodiscard]] double shortest(Phase phase) const;

  std::vector<RankState> ranks_;
  Limits limits_;
  Part part_;
  bool told_ready_ = false;
  bool met_ = false;  ///< the id of the communicator has come from another node
  bool cut_short_ = false;
  std::string id_;  ///< the id that rank 0 has made here
  State state_ = State::running;
  std::optional<TimePoint> deadline_;
  std::vector<RankFailure> failures_;
  std::optional<Hung> hung_;
  std::optional<Untold> untold_;
};

}  // namespace safelaunch::probe
