#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "safelaunch/base/event.h"
#include "safelaunch/base/stall_timeout.h"
#include "safelaunch/watch/uncounted.h"

namespace safelaunch::watch {

/// How many collectives a rank has called, and how many of them are finished. Compared in this
/// order: a rank that waits for another has called one more, and finished as many.
struct Collectives {
  std::int64_t begun = 0;
  std::int64_t finished = 0;
  int groups = 0;  ///< over which both count
  [[nodiscard]] bool waits() const { return begun > finished; }
  auto operator<=>(const Collectives&) const = default;
};

/// The ranks that have come less far than others, the furthest behind first; none where ranks are
/// in several groups, whose sums differ.
[[nodiscard]] std::vector<Rank> lagging(const std::map<Rank, Collectives>& counters);

/// The training has stood still for `silent_for`: no collective was finished, and, where not all
/// ranks could be asked, nothing was written.
struct StallReport {
  Duration silent_for{};
  /// Ranks that have come less far than others, the furthest behind first; empty where the counters
  /// are equal, where no hook answers, or where ranks are in several groups, whose sums differ.
  /// Where others wait and some are stopped (SIGSTOP), those; they may never have told a counter.
  /// Where all ranks have ended, those that were not through; their activity is dead.
  std::vector<Rank> lagging;
  std::map<Rank, Collectives> counters;  ///< the counters of each rank that answered
  bool output_counts = true;             ///< not all ranks count their collectives
  bool again = false;                    ///< of this standstill was told before
  Duration unsure{};  ///< it may have begun so much earlier: the time between two questions
  std::map<Rank, Activity> activities{};  ///< of each rank at the last look
  /// Ranks that work while others wait for them in a collective. Where there are any, training may
  /// well go on: a long evaluation, or a loop without an end.
  std::vector<Rank> working{};
  std::vector<Rank> meeting{};  ///< ranks that wait until others make a group with them
  /// Ranks that wait for others: in a collective, a message, or the making of a group.
  std::set<Rank> waiting{};
  bool all_ended = false;  ///< the command goes on without its ranks
};

/// "no output and no collective finished for 10min; rank 3 is behind (41 of 42 collectives begun)".
[[nodiscard]] std::string describe(const StallReport& report);

/// Asks for on_counters() of every rank.
struct AskCounters {};

/// It moves again.
struct StallOver {
  Duration stood{};  ///< how long it stood still
};

using StallAction = std::variant<AskCounters, StallReport, StallOver>;

/// Watches a job in training (`--stall-timeout`). Pure: times are handed in. It only reports: each
/// standstill, again whenever it has become twice as long, and its end.
///
/// All ranks are asked for their counters, once a minute, or twice within a shorter timeout. Where
/// each rank counts, the counters alone decide: a thread that prints "alive" is no training. Else
/// output is a sign of life too. A rank that works outside of a collective (an evaluation, a
/// checkpoint) is training; but once a standstill was told, only a collective ends it, since a
/// thread that looks at the GPU now and then is at work, too, and not one that another rank never
/// began: it has failed.
///
/// With a timeout of `auto`, ranks for which others wait are told too while they work: after twice
/// the longest step that the job has taken, ten minutes at least, and 30 minutes before a step is
/// known. A standstill is told where every rank of the world counts its
/// collectives and one of them waits in one (a server waits for requests in none), or waits for
/// others to make a group, or stands in a call that is not counted: after twice the longest
/// pause that the job has shown, after two minutes at least (ten where some wait in such a call
/// alone, others in nothing), and after 30 minutes before a pause is
/// known, three where ranks wait for others to make a group. While those that the others wait for
/// wait for a request, nothing is told. Once all ranks have ended, some of them before they were
/// through, and the command goes on, that is told.
class Stall {
 public:
  /// How a rank waits in a collective: NCCL may use a whole CPU for it, gloo sleeps.
  enum class Waiting { sleeps, may_spin };

  /// `ranks`: how many there are.
  Stall(StallTimeout timeout, TimePoint now, int ranks = 0, Waiting waiting = Waiting::may_spin)
      : timeout_(timeout),
        ranks_(ranks),
        waiting_(waiting),
        moved_at_(now),
        asked_at_(now),
        progressed_at_(now) {}

  void on_output(TimePoint now);
  void on_counters(Rank rank, Collectives counters, TimePoint now,
                   Uncounted stands = Uncounted::nothing);
  void on_activity(Rank rank, Activity activity, TimePoint now);
  /// What the processes of the job do that nobody knows as ranks: one of them may come to the
  /// meeting.
  void on_others(Activity activity, TimePoint now);
  /// The ranks that wait for the job's standard input, a pipe: for a request, too.
  void on_readers(std::set<Rank> ranks) { readers_ = std::move(ranks); }
  /// Nobody could call a collective now, or nobody knows when a request comes: neither a pause nor
  /// a step grows by the time until now.
  void rested(TimePoint now);
  /// All ranks have ended, these of them before they were through. None: some live.
  void on_lost(std::set<Rank> ranks) { lost_ = std::move(ranks); }
  /// How many other nodes have not answered the last question: without them nothing is told.
  void on_unanswered(std::size_t nodes) { unanswered_ = nodes; }
  /// Whether ranks wait for others to make a group.
  [[nodiscard]] bool somebody_meets() const { return !meeting_.empty(); }
  [[nodiscard]] std::optional<StallAction> tick(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

 private:
  void moved(TimePoint now);
  void progressed(TimePoint now);
  /// Once a standstill was told: another rank has never begun what this one says that it finished.
  [[nodiscard]] bool cannot_have_finished(Collectives before, Collectives now) const;
  [[nodiscard]] Duration limit() const;
  [[nodiscard]] Duration pause_between_questions() const;
  [[nodiscard]] bool output_counts() const;
  [[nodiscard]] bool waits(Rank rank) const;
  [[nodiscard]] bool somebody_waits() const;
  [[nodiscard]] bool somebody_is_in_a_message() const;
  [[nodiscard]] bool waits_for_messages() const;
  [[nodiscard]] bool awaits_request() const;
  [[nodiscard]] bool stands_still() const;
  [[nodiscard]] std::vector<Rank> working() const;
  [[nodiscard]] bool works_long() const;
  [[nodiscard]] std::vector<Rank> stopped() const;
  [[nodiscard]] StallReport report(TimePoint now) const;

  StallTimeout timeout_;
  int ranks_;
  Waiting waiting_;
  TimePoint moved_at_;
  TimePoint asked_at_;
  int asked_ = 0;  // since it has moved
  std::size_t unanswered_ = 0;
  bool known_ = false;                       // who counts: all were asked once
  std::optional<TimePoint> compared_since_;  // the first answer
  std::optional<Duration> longest_pause_;
  // A step ends with a collective.
  TimePoint progressed_at_;
  int asked_in_step_ = 0;
  std::optional<Duration> longest_step_;
  Duration told_work_{};          // how long ranks had worked when it was told; 0: it was not
  Duration told_{};               // how long it stood still when it was told; 0: it was not
  std::optional<Duration> over_;  // a standstill that was told, and whose end was not
  std::map<Rank, Collectives> counters_;
  std::map<Rank, TimePoint> answered_at_;
  std::set<Rank> standing_;  // in one call, as they were at the question before
  std::set<Rank> meeting_;   // of them, those whose call makes a group
  std::set<Rank> serving_;
  std::set<Rank> readers_;
  std::set<Rank> lost_;
  std::map<Rank, Activity> activities_;
};

}  // namespace safelaunch::watch
