#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "safelaunch/base/time.h"
#include "safelaunch/base/unique_fd.h"

namespace safelaunch {

class Redactor;

/// A value in the record.
using FieldValue = std::variant<std::int64_t, double, bool, std::string, std::vector<int>,
                                std::vector<std::string>>;
using Field = std::pair<std::string_view, FieldValue>;
using Fields = std::initializer_list<Field>;

/// events.jsonl: the record of one job, one event a line. The screen, `status` and `report` are
/// views of it. Every event has `t` (monotonic seconds since the run began), `wall` (ISO 8601, UTC)
/// and `e` (its name), and from the first attempt on `attempt` (docs/run-directory.md lists them
/// all). A full disk ends the recording, once and announced by ok() becoming false; never the job.
class EventLog {
 public:
  EventLog() = default;
  /// Takes secrets out of what it records by the redactor, which learns them and outlives it.
  EventLog(const std::filesystem::path& file, TimePoint begin, Redactor& redactor);

  void set_attempt(int number) { attempt_ = number; }
  void record(std::string_view event, Fields fields = {});
  void record(std::string_view event, const std::vector<Field>& fields);
  [[nodiscard]] bool ok() const { return static_cast<bool>(fd_); }

 private:
  UniqueFd fd_;
  TimePoint begin_;
  Redactor* redactor_ = nullptr;
  int attempt_ = 0;
};

}  // namespace safelaunch
