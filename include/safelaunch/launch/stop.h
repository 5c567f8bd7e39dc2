#pragma once

#include <csignal>
#include <optional>
#include <variant>
#include <vector>

#include "safelaunch/base/time.h"

namespace safelaunch::launch {

/// How a job is stopped.
///
///     polite   the launcher (or each worker that we spawned) is asked by the user's own signal,
///              once, and has the whole grace: it passes the signal on, and scripts save their
///              state; without a grace it is waited for, since the job may take the signal as a word
///     sweep    every process gets TERM, and CONT where it is stopped; for a job that hangs, and
///              for what a job has left running when its launcher ended
///     now      every process is killed
///     await    nobody is asked: ranks that have trained and outlive a launcher that made a success
///              of it end by themselves, as without safelaunch. Their end, the end of the grace, or
///              a signal of the user begins the sweep
///
/// Whatever lives at the end of the grace is killed. Who reads what the job has written (`exec >
/// >(gzip > log)`) is no leftover: it ends by itself, and is only killed `now`, or when it has done
/// nothing for a second, or after `kReadersFinish`.
enum class StopMode { polite, sweep, now, await };

/// INT and TERM: a second one of these kills.
[[nodiscard]] bool is_insisting(int signal);

/// Somebody wants the job stopped in this way. A further wish while a stop is under way can only
/// make it harder; a second INT or TERM of the user means `now`.
struct StopWanted {
  StopMode mode = StopMode::polite;
  int signal = SIGTERM;             ///< the user's signal; for `polite` only
  std::optional<Duration> grace{};  ///< none: as long as it takes; for `polite` only
};
/// The launcher, or the last of our workers, has ended; its children may still run. One that a
/// signal killed (a shell script on TERM) has handed the signal to nobody, so its children have not
/// been asked yet.
struct MainEnded {
  enum class How { by_itself, by_signal } how = How::by_itself;
};
/// No rank lives any more, so nobody is left who could save something.
struct RanksGone {};
/// Processes that read what the job has written are still at it.
struct ReadersAtWork {};
/// No living process is below us any more.
struct TreeEmpty {};
/// Some time has passed; perhaps the deadline.
struct TimePassed {};

using StopEvent =
    std::variant<StopWanted, MainEnded, RanksGone, ReadersAtWork, TreeEmpty, TimePassed>;

/// Signal the launcher alone, or each worker that we spawned.
struct AskMain {
  int signal = 0;
  bool operator==(const AskMain&) const = default;
};
/// Signal every process of the job.
struct SignalTree {
  int signal = 0;
  bool spare_readers = true;
  bool operator==(const SignalTree&) const = default;
};
/// The stop is over. A process that still lives was killed and does not end.
struct StopDone {
  bool operator==(const StopDone&) const = default;
};

using StopAction = std::variant<AskMain, SignalTree, StopDone>;

/// Decides how a job is stopped; `TreeStopper` performs it.
///
///     idle ─ StopWanted polite ─→ asking ─ MainEnded ─→ sweeping (RanksGone: a second more)
///       ├──── StopWanted sweep ───────────────────────────┤ │
///       └──── StopWanted await ─→ awaiting ─ RanksGone ───┘ │
///     any ── deadline, StopWanted now, second INT or TERM ──→ killing (again and again)
///     any ── TreeEmpty ──→ done ←── patience over ── killing
class StopSequence {
 public:
  [[nodiscard]] std::vector<StopAction> on(const StopEvent& event, TimePoint now);

  /// The time at which TimePassed shall come; nullopt while there is nothing to wait for.
  [[nodiscard]] std::optional<TimePoint> deadline() const;

 private:
  enum class Phase { idle, awaiting, asking, sweeping, killing, done };

  std::vector<StopAction> wanted(const StopWanted& stop, TimePoint now);
  std::vector<StopAction> ask(const StopWanted& stop, TimePoint now);
  std::vector<StopAction> main_ended(MainEnded ended, TimePoint now);
  std::vector<StopAction> ranks_gone(TimePoint now);
  std::vector<StopAction> readers_at_work(TimePoint now);
  std::vector<StopAction> sweep(TimePoint end);
  enum class Readers { spared, killed };
  std::vector<StopAction> kill(TimePoint now, Readers readers);
  [[nodiscard]] SignalTree kill_all(TimePoint now) const;
  std::vector<StopAction> time_passed(TimePoint now);
  std::vector<StopAction> done();

  Phase phase_ = Phase::idle;
  bool user_insisted_ = false;  ///< one INT or TERM of the user has come already
  bool ranks_gone_ = false;
  /// The end of the launcher, where it came before anybody wanted a stop.
  std::optional<MainEnded> main_ended_;
  TimePoint deadline_{};               ///< max: none
  Readers readers_ = Readers::spared;  ///< killing
  TimePoint readers_until_{};          ///< when the readers are killed as well
  TimePoint patience_ends_{};  ///< killing: when the stop gives up on processes that do not end
  Duration pause_{};           ///< killing: the pause before the next walk through the tree
};

/// The time that processes have to end by themselves when their launcher has ended; a hung job that
/// makes room for the next attempt has it, too.
inline constexpr Duration kSweepGrace{1'000};

/// The time in which readers of the job's output may finish.
inline constexpr Duration kReadersFinish{30'000};

/// The time that processes have to save whose launcher was killed by a signal that has no grace, or
/// has ended before them.
inline constexpr Duration kOrphansSave{30'000};

}  // namespace safelaunch::launch
