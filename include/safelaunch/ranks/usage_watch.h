#pragma once

#include <map>

#include "safelaunch/base/alarm.h"
#include "safelaunch/base/environment.h"
#include "safelaunch/base/event.h"
#include "safelaunch/base/time.h"
#include "safelaunch/gpu/reader.h"
#include "safelaunch/host/process_tree.h"
#include "safelaunch/ranks/services.h"
#include "safelaunch/report/record.h"
#include "safelaunch/watch/rank_state.h"

namespace safelaunch::ranks {

/// Decides when the figures of the ranks are taken. The older an attempt, the more rarely: a month
/// has some two hundred figures, and a job that is over within two seconds none. Pure.
class UsageClock {
 public:
  explicit UsageClock(TimePoint begin) : begin_(begin), last_(begin), asked_(begin) {}

  /// Whether the figures are taken now that something else has woken safelaunch.
  [[nodiscard]] bool is_due(TimePoint now) const;
  /// When safelaunch wakes up for the figures, where nothing else wakes it.
  [[nodiscard]] TimePoint wake_at() const;
  void taken(TimePoint now) { last_ = now; }

  /// Whether the GPUs are due to be read, which costs a process.
  [[nodiscard]] bool are_gpus_due(TimePoint now) const;
  void asked_gpus(TimePoint now) { asked_ = now; }

 private:
  TimePoint begin_;
  TimePoint last_;
  TimePoint asked_;
};

/// The event of a GPU reading; `ranks` has the rank of each process of theirs.
[[nodiscard]] report::record::Gpus gpus_event(const gpu::Facts& facts,
                                              const std::map<int, Rank>& ranks);

/// Records now and then the CPU and memory that the ranks use, and the memory and work of their
/// GPUs, for the page. It looks where safelaunch is awake anyway: for output of the job, a word of
/// a hook, a look of the watch. A job that says nothing is looked at after a minute, then each time
/// that it has grown twice as old, and at least every hour.
class UsageWatch {
 public:
  /// `ranks` are those of the job as they are seen at present.
  UsageWatch(const Services& services, const std::map<Rank, watch::RankState>& ranks)
      : services_(services), ranks_(ranks), timer_(services.io) {}

  /// `environment` is the job's: its LD_LIBRARY_PATH decides which driver library is asked.
  void begin(Environment environment);
  void end();

  /// A rank has answered how many collectives it has finished.
  void counted(Rank rank, std::int64_t collectives) { collectives_[rank] = collectives; }
  /// Something has woken safelaunch.
  void look();
  /// Takes the last figures, since the ranks are about to be stopped.
  void look_at_the_end();

 private:
  void take(TimePoint now);
  void wake_later();
  void ask_gpus(TimePoint now);
  [[nodiscard]] bool uses_a_gpu();

  Services services_;
  const std::map<Rank, watch::RankState>& ranks_;
  Alarm timer_;
  host::Procfs table_;
  Environment environment_;
  std::optional<UsageClock> clock_;  // decides when the figures are taken; none: never
  std::map<ProcessId, host::TreeUsage> before_;
  std::map<int, Rank> ranks_of_processes_;
  std::map<Rank, std::int64_t> collectives_;
  bool armed_ = false;
  bool has_gpu_ = false;
  std::optional<gpu::Reading> question_;
};

}  // namespace safelaunch::ranks
