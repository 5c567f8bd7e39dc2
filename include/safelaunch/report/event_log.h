#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>

#include "safelaunch/base/disk_queue.h"
#include "safelaunch/base/time.h"
#include "safelaunch/report/record.h"

namespace safelaunch::redact {
class Redactor;
}  // namespace safelaunch::redact

namespace safelaunch::report {

/// Writes events.jsonl, the record of one job with one event a line; `status` and `report` are
/// views of it. Every event has `t` (monotonic seconds since the run began), `wall` (ISO 8601,
/// UTC), `e` (its name) and, from the first attempt on, `attempt`; report/record.h has the other
/// fields. A full disk ends the recording and never the job; ok() is then false. With a `disk`, its
/// thread writes. Events that a stalled disk does not take are counted, and recorded as
/// `unrecorded` once it takes some again. Without a `disk`, events are written at once.
class EventLog {
 public:
  EventLog() = default;
  /// The redactor learns the secrets in the events and takes them out. It must outlive the log.
  EventLog(const std::filesystem::path& file, TimePoint begin, redact::Redactor& redactor,
           DiskQueue* disk = nullptr);

  void set_attempt(int number) { attempt_ = number; }
  void record(const record::Event& event);

  /// Hands each event also to `watcher`, whether it is recorded or not.
  void watch(std::function<void(int attempt, const record::Event&)> watcher) {
    watcher_ = std::move(watcher);
  }
  /// For the watcher alone.
  void tell(const record::Event& event) const {
    if (watcher_) watcher_(attempt_, event);
  }

  /// Records an event of a kind that the job can cause without limit. An attempt records a hundred
  /// of each name, and at its end only the number of the others (`unrecorded`).
  void record_some(const record::Event& event);
  /// Records these numbers; to be called at the end of an attempt.
  void count_the_rest();

  [[nodiscard]] bool ok() const;
  /// How many events a stalled disk did not take.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  struct File;
  void write(std::string line);

  std::shared_ptr<File> file_;
  DiskQueue* disk_ = nullptr;
  TimePoint begin_;
  redact::Redactor* redactor_ = nullptr;
  int attempt_ = 0;
  std::function<void(int, const record::Event&)> watcher_;
  std::uint64_t lost_ = 0;    ///< events that the disk did not take
  std::uint64_t untold_ = 0;  ///< the events among the lost ones that the record does not count yet
  /// How many events of each name record_some() was given.
  std::map<std::string, std::int64_t, std::less<>> made_;
};

}  // namespace safelaunch::report
