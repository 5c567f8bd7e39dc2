#pragma once

#include <filesystem>
#include <functional>
#include <map>

#include "safelaunch/base/alarm.h"
#include "safelaunch/base/disk_queue.h"
#include "safelaunch/base/event.h"
#include "safelaunch/base/result.h"
#include "safelaunch/report/record.h"

namespace safelaunch::run {

/// The figures of a run as node_exporter's textfile collector reads them (`--metrics`,
/// docs/metrics.md), made of the events of its record. Pure: times are handed in.
class Figures {
 public:
  explicit Figures(std::string run) : run_(std::move(run)) {}

  /// Whether the event changes more than a count, and should be read soon.
  bool take(int attempt, const report::record::Event& event, TimePoint now);
  /// In Prometheus' text format.
  [[nodiscard]] std::string text(TimePoint now) const;

 private:
  struct RankFigures {
    std::string stage;
    std::optional<std::int64_t> finished;  ///< collectives; none: it was not asked
    TimePoint last{};                      ///< when it was seen to have finished one more
  };

  [[nodiscard]] std::string text_of_ranks(TimePoint now) const;

  std::string run_;
  int attempt_ = 0;
  std::string profile_;
  bool training_ = false;
  std::optional<int> exit_status_;
  std::map<int, RankFigures> ranks_;
};

/// Keeps a file of these figures: written anew every 15 s, and soon after a change. A disk that
/// does not answer is done without.
class MetricsFile {
 public:
  MetricsFile(boost::asio::io_context& io, std::filesystem::path file, std::string run)
      : alarm_(io), file_(std::move(file)), figures_(std::move(run)) {}

  void take(int attempt, const report::record::Event& event);
  /// The last word. Says what is wrong with the file; empty: nothing.
  [[nodiscard]] std::string finish();

 private:
  [[nodiscard]] std::function<Result<void>()> writing() const;
  void write();

  Alarm alarm_;
  std::filesystem::path file_;
  Figures figures_;
  bool soon_ = false;  ///< it is about to be written
  DiskQueue disk_;     ///< another file system than the record's may not answer
};

}  // namespace safelaunch::run
