#pragma once

#include <array>
#include <set>

#include "safelaunch/base/event.h"
#include "safelaunch/base/time.h"

namespace safelaunch::watch {

/// How strongly a process is known to be the training process of its rank. A wrapper (`sh run.sh`)
/// yields to the Python it starts, and that yields to whoever really calls init_process_group.
enum class RankEvidence {
  none,     ///< nothing is known
  process,  ///< started by us with that RANK, or found in /proc with it
  nccl,     ///< NCCL in it makes a communicator
  hook,     ///< a hook in it has spoken
  entered,  ///< it has begun to wait for the other ranks
};

/// The result of a process's claim to a rank.
enum class RankClaim {
  held,       ///< it is the rank's process already
  taken,      ///< it is from now on
  ignored,    ///< a child or a wrapper of the rank's process
  contested,  ///< two live processes wait as this rank
};

/// Our knowledge of one rank: its process, the stages it has entered and reached, what it does.
/// A value; every instant is handed in, in job time (JobClock).
class RankState {
 public:
  /// A process says that it is this rank. A process that replaces an ended one starts from nothing.
  RankClaim claim(ProcessId process, RankEvidence evidence, TimePoint now = {});

  /// The process runs another program now (exec): it starts from nothing too.
  void begin_anew();

  /// The process joins another world: its stages begin again from the rendezvous on.
  void join_anew();

  /// The process works for another rank, whatever it seemed to be: what started it is the rank
  /// again, where that is known.
  void give_back();
  /// The process above the rank's is none of its processes.
  void forget_wrapper(ProcessId process);

  /// The connection of the hook in the process is lost.
  void fall_silent() { heard_ = false; }

  /// Entering implies what must lie behind: a rank that waits for a group has imported torch, and
  /// one in a collective has its group. So an event lost on the way does no harm.
  void enter(Stage stage, TimePoint now);
  void reach(Stage stage, TimePoint now);
  /// Where its device works for it, the rank is at work until it enters the stage again.
  void leave(Stage stage, bool device_works = false);

  /// It makes a group of these ranks, which ends once they have met: with a communicator of the
  /// world behind it, it enters `communicator` again until it leaves it.
  void make_group(const std::string& name, std::vector<Rank> members, TimePoint now);
  /// NCCL's log tells of a communicator. Of a group that is being made only the hook tells the end.
  void reach_in_nccl(TimePoint now);

  /// NCCL has begun, and waits for nobody before it enters `communicator`.
  void prepare() { prepares_ = !reached(Stage::communicator); }

  /// An exception: the rank has left what it was waiting in. Its fate is not known yet: `try:
  /// init("nccl") except: init("gloo")` is healthy.
  void raise(const RankRaised& raised);

  /// A process has ended: the rank itself, unless it was only what a wrapper had started, or a
  /// former process, or a stranger. The stages that a wrapper's process reached before it ended in
  /// order count as the rank's.
  void exit(ProcessId process, std::optional<ExitStatus> status, TimePoint now);

  /// It waits for a person, in these words; empty: no longer.
  void await_person(std::string doing, TimePoint now);

  /// One sample of what the rank does, good for the `period` before it.
  void sample(Activity activity, std::string doing, TimePoint now, Duration period);

  [[nodiscard]] const std::optional<ProcessId>& process() const { return process_; }
  [[nodiscard]] bool known() const { return process_.has_value(); }
  [[nodiscard]] bool ended() const { return ended_at_.has_value(); }
  [[nodiscard]] std::optional<TimePoint> ended_at() const { return ended_at_; }
  /// When its process became this rank.
  [[nodiscard]] TimePoint began_at() const { return began_at_; }
  [[nodiscard]] bool alive() const { return known() && !ended(); }
  /// Ended otherwise than with status 0, as far as is known.
  [[nodiscard]] bool failed() const { return ended() && status_ && !succeeded(*status_); }
  [[nodiscard]] const std::optional<ExitStatus>& status() const { return status_; }
  /// No hook speaks for it, so its deeds in a collective cannot be seen.
  [[nodiscard]] bool blind() const { return !heard_; }
  [[nodiscard]] RankEvidence evidence() const { return evidence_; }

  [[nodiscard]] bool entered(Stage stage) const { return entered_[index(stage)].has_value(); }
  [[nodiscard]] bool reached(Stage stage) const { return reached_[index(stage)]; }
  /// Has ever entered the stage, also where an exception has ended its waiting since.
  [[nodiscard]] bool tried(Stage stage) const { return tried_[index(stage)]; }
  /// Had its first collective behind it, if only in a world or a program that it has left since.
  [[nodiscard]] bool had_collective() const {
    return had_collective_ || reached(Stage::collective);
  }
  /// How many worlds the rank has left for another. A rank that has left fewer than the waiting
  /// ranks has still to join theirs.
  [[nodiscard]] int worlds_left() const { return worlds_left_; }
  /// Alive, has entered the stage and not come through.
  [[nodiscard]] bool waits_in(Stage stage) const;
  [[nodiscard]] std::optional<TimePoint> entered_at(Stage stage) const {
    return entered_[index(stage)];
  }
  /// The last stage, in the order of `Stage`, that it has reached.
  [[nodiscard]] Stage furthest() const;

  /// The rank's activity; `unseen` if the last sample is too old to tell.
  [[nodiscard]] Activity activity(TimePoint now) const;
  /// It has called a collective, and NCCL still prepares for it: at work, it waits for nobody.
  [[nodiscard]] bool prepares() const { return prepares_; }
  [[nodiscard]] bool has_made(const std::string& name) const { return groups_.contains(name); }
  [[nodiscard]] bool awaits_person() const { return !awaits_person_.empty(); }
  /// When a person last had it in hand: what the rank does counts from then on.
  [[nodiscard]] TimePoint attended_at() const { return attended_at_; }
  /// The rank's activity in words, beside activity().
  [[nodiscard]] std::string doing(TimePoint now) const;
  /// Since when it has been no more active than `activity` (stopped, quiet or idling).
  [[nodiscard]] std::optional<TimePoint> calm_since(Activity activity) const;

  /// It idles until another process of this host writes to it: that one may be at work for it.
  [[nodiscard]] bool awaits_local(TimePoint now) const {
    return awaits_local_ && activity(now) == Activity::idling;
  }
  void note_awaits_local(bool value) { awaits_local_ = value; }

  [[nodiscard]] const std::optional<RankRaised>& raised() const { return raised_; }

  std::optional<int> claimed_world;    ///< WORLD_SIZE as it gave it to init_process_group
  std::optional<int> announced_world;  ///< WORLD_SIZE as its environment had it
  /// The plugin in this rank's NCCL: absent, loaded (it will report the call of the first
  /// collective), or it has reported that call. A plugin that also reports the end makes blind()
  /// false.
  enum class Plugin { none, loaded, saw_call } plugin = Plugin::none;
  std::string store;         ///< "host:port" or "file:PATH": where it meets the others
  std::vector<Rank> awaits;  ///< in `communicator`: the members of the group that it makes
  std::string group;         ///< the name of that group, the same on all its members; or empty

 private:
  static std::size_t index(Stage stage) { return static_cast<std::size_t>(stage); }
  void start_over(ProcessId process, RankEvidence evidence);
  void came_through(TimePoint now);
  void leave_world();
  void forget_group();

  struct Wrapper {
    ProcessId process;
    RankEvidence evidence;
  };
  std::optional<ProcessId> process_;
  RankEvidence evidence_ = RankEvidence::none;
  bool heard_ = false;           // a hook speaks in the process
  bool had_collective_ = false;  // the rank had its first collective in an earlier world
  int worlds_left_ = 0;
  std::vector<Wrapper> wrappers_;

  std::array<std::optional<TimePoint>, kStageCount> entered_{};
  std::array<bool, kStageCount> reached_{};
  std::array<bool, kStageCount> tried_{};
  TimePoint began_at_{};
  std::optional<TimePoint> ended_at_;
  std::optional<ExitStatus> status_;
  std::optional<RankRaised> raised_;

  Activity activity_ = Activity::unseen;
  std::string doing_;
  bool awaits_local_ = false;
  bool device_works_ = false;
  bool prepares_ = false;
  bool has_communicator_ = false;  // while it makes a group: it had one before, or has had since
  std::set<std::string> groups_;   // those that it has begun to make
  TimePoint sampled_at_{};
  std::string awaits_person_;
  TimePoint attended_at_{};
  // Since when the rank is stopped, quiet, idling, in this order.
  std::array<std::optional<TimePoint>, 3> calm_since_{};
};

}  // namespace safelaunch::watch
