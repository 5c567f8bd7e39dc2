#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "safelaunch/base/disk_queue.h"
#include "safelaunch/base/time.h"
#include "safelaunch/report/record.h"

namespace safelaunch {
class Redactor;
}  // namespace safelaunch

namespace safelaunch::report {

/// events.jsonl: the record of one job, one event a line. The screen, `status` and `report` are
/// views of it. Every event has `t` (monotonic seconds since the run began), `wall` (ISO 8601, UTC)
/// and `e` (its name), and from the first attempt on `attempt` (report/record.h has them all). A
/// full disk ends the recording, once and announced by ok() becoming false; never the job. Written
/// by `disk`, where there is one: events that a stalled one does not take are counted, and recorded
/// as `unrecorded` once it takes some again. Without one they are written at once.
class EventLog {
 public:
  EventLog() = default;
  /// Takes secrets out of what it records by the redactor, which learns them and outlives it.
  EventLog(const std::filesystem::path& file, TimePoint begin, Redactor& redactor,
           DiskQueue* disk = nullptr);

  void set_attempt(int number) { attempt_ = number; }
  void record(const record::Event& event);

  /// The same for events that somebody else makes as many of as he likes: a hundred of a name are
  /// recorded in an attempt, of the others only how many there were (`unrecorded`, at its end).
  void record_some(const record::Event& event);
  /// The attempt is over.
  void count_the_rest();

  [[nodiscard]] bool ok() const;
  /// Events that a stalled disk did not take.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  struct File;
  void write(std::string line);

  std::shared_ptr<File> file_;
  DiskQueue* disk_ = nullptr;
  TimePoint begin_;
  Redactor* redactor_ = nullptr;
  int attempt_ = 0;
  std::uint64_t lost_ = 0;    ///< in all
  std::uint64_t untold_ = 0;  ///< of them, those that the record does not mention yet
  std::map<std::string, std::int64_t, std::less<>> made_;  ///< by record_some, in this attempt
};

}  // namespace safelaunch::report
