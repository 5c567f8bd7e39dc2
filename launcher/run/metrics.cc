#include "metrics.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <cstring>

#include <re2/re2.h>

#include "safelaunch/base/format.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/run/run_job.h"

// Prometheus asks for base units, one HELP and TYPE a name, and `_total` behind a counter. All
// files of a host are read together, so each line has the id of its run, and the same HELP
// everywhere. No run, profile or stage has a name with a character that must be escaped.
namespace safelaunch::run {
namespace {

constexpr Duration kEvery{15'000};
constexpr Duration kLate{5'000};  // on a busy machine
constexpr Duration kSoon{1'000};  // ranks come to a stage together
constexpr Duration kLastWriteWithin{1'000};

/// Lines in Prometheus' format, all of one run.
struct MetricLines {
  std::string run;
  std::string text{};

  void begin(std::string_view name, std::string_view type, std::string_view help) {
    text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  }
  void add(std::string_view name, const std::string& more_labels, const auto& value) {
    text += fmt::format("{}{{run=\"{}\"{}}} {}\n", name, run, more_labels, value);
  }
  void gauge(std::string_view name, std::string_view help, const auto& value,
             const std::string& more_labels = {}) {
    begin(name, "gauge", help);
    add(name, more_labels, value);
  }
};

// One that was killed has left its figures as they were.
std::string writer_beside_us(const std::filesystem::path& file, std::string_view figures) {
  static const RE2 kRuns{R"re(\nsafelaunch_running\{run="([\w-]+)"\} 1\n)re"};
  std::string run;
  std::error_code none;
  const auto age =
      std::filesystem::file_time_type::clock::now() - std::filesystem::last_write_time(file, none);
  if (none || age > kEvery + kLate || !RE2::PartialMatch(figures, kRuns, &run)) return {};
  return fmt::format("--metrics {}: run {} writes it, too; each job needs a file of its own",
                     file.native(), run);
}

}  // namespace

Result<std::string> check_metrics_file(const std::filesystem::path& file, bool may_write) {
  constexpr std::size_t kBeginning = 512;
  const auto refused = [&](std::string_view why) {
    return Error{Errc::usage, fmt::format("--metrics {}: {}", file.native(), why)};
  };
  if (file.extension() != ".prom") return refused("node_exporter reads only names in .prom");
  std::error_code none;
  const auto text = read_user_file(file, kBeginning, Links::refused);
  const bool is_ours = text && (text->empty() || text->starts_with("# HELP safelaunch_"));
  if (std::filesystem::exists(std::filesystem::symlink_status(file, none)) && !is_ours)
    return refused("holds no figures of safelaunch; it was left as it is");
  if (!may_write) return "";
  std::string beside = file.native() + ".XXXXXX";
  const UniqueFd made(::mkostemp(beside.data(), O_CLOEXEC));
  if (!made) return refused(std::strerror(errno));
  ::unlink(beside.c_str());
  return text ? writer_beside_us(file, *text) : "";
}

bool Figures::take(int attempt, const report::record::Event& event, TimePoint now) {
  namespace record = report::record;
  if (const auto* counted = std::get_if<record::Counted>(&event)) {
    const auto rank = ranks_.find(counted->rank);  // none: it has ended
    if (rank != ranks_.end() && rank->second.finished != counted->collectives)
      rank->second = {rank->second.stage, counted->collectives, now};
    return false;
  }
  if (const auto* begun = std::get_if<record::Attempt>(&event)) {
    *this = Figures(run_);
    attempt_ = attempt;
    profile_ = begun->profile;
  } else if (const auto* reached = std::get_if<record::Stage>(&event)) {
    ranks_[reached->rank].stage = reached->stage;
  } else if (std::holds_alternative<record::Training>(event)) {
    training_ = true;
  } else if (const auto* exit = std::get_if<record::Exit>(&event)) {
    exit->rank < 0 ? ranks_.clear() : void(ranks_.erase(exit->rank));
  } else if (const auto* end = std::get_if<record::End>(&event)) {
    exit_status_ = end->exit_status;
    ranks_.clear();
  } else {
    return false;
  }
  return true;
}

std::string Figures::text(TimePoint now) const {
  MetricLines lines{run_};
  lines.gauge("safelaunch_running", "1 while the job runs, 0 once it has ended.",
              exit_status_ ? 0 : 1);
  lines.gauge("safelaunch_attempt", "The number of the attempt.", attempt_);
  lines.gauge("safelaunch_profile_info", "The profile of the attempt.", 1,
              fmt::format(",profile=\"{}\"", profile_));
  lines.gauge("safelaunch_training", "1 once every rank has finished its first collective.",
              training_ ? 1 : 0);
  if (exit_status_)
    lines.gauge("safelaunch_exit_status", "The exit status of a run that has ended.",
                *exit_status_);
  else
    lines.gauge("safelaunch_ranks", "How many ranks are known.", ranks_.size());
  if (!exit_status_) lines.text += text_of_ranks(now);
  return lines.text;
}

std::string Figures::text_of_ranks(TimePoint now) const {
  MetricLines lines{run_};
  const auto rank_label = [](int rank) { return fmt::format(",rank=\"{}\"", rank); };
  constexpr auto kStage = "safelaunch_rank_stage_info";
  lines.begin(kStage, "gauge", "The stage that the rank has reached.");
  for (const auto& [rank, one] : ranks_)
    lines.add(kStage, rank_label(rank) + fmt::format(",stage=\"{}\"", one.stage), 1);
  constexpr auto kFinished = "safelaunch_rank_collectives_finished_total";
  lines.begin(kFinished, "counter", "Collectives that the rank has finished.");
  for (const auto& [rank, one] : ranks_)
    if (one.finished) lines.add(kFinished, rank_label(rank), *one.finished);
  constexpr auto kAge = "safelaunch_rank_last_collective_age_seconds";
  lines.begin(kAge, "gauge", "Since the rank was seen to have finished one more collective.");
  for (const auto& [rank, one] : ranks_)
    if (one.finished)
      lines.add(kAge, rank_label(rank),
                fmt::format("{:.1f}", std::chrono::duration<double>(now - one.last).count()));
  return lines.text;
}

void MetricsFile::take(int attempt, const report::record::Event& event) {
  if (!figures_.take(attempt, event, Clock::now()) || std::exchange(soon_, true)) return;
  alarm_.set_after(kSoon, [this] { write(); });
}

std::function<Result<void>()> MetricsFile::writing() const {
  return [file = file_, text = figures_.text(Clock::now())] {
    return replace_public_file(file, text);
  };
}

void MetricsFile::write() {
  soon_ = false;
  alarm_.set_after(kEvery, [this] { write(); });
  if (!disk_.stuck()) (void)disk_.post(0, [task = writing()] { (void)task(); });
}

std::string MetricsFile::finish() {
  alarm_.cancel();
  const auto written = disk_.within(kLastWriteWithin, writing());
  if (!written) return "its file system does not answer";
  return *written ? "" : written->error().message;
}

}  // namespace safelaunch::run
