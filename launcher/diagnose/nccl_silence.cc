#include "nccl_silence.h"

#include <map>
#include <set>

#include "explanation.h"
#include "number_after.h"
#include "safelaunch/base/format.h"
#include "safelaunch/diagnose/log_line.h"

namespace safelaunch {
namespace {

/// How far the processes of one log came; a communicator is told by its ranks' number.
class Progress {
 public:
  void read(std::string_view line) {
    const std::string_view process = line.substr(0, line.find(" NCCL "));
    const std::string pid(process.substr(0, process.rfind(':')));
    if (line.find("Using network ") != std::string_view::npos) in_bootstrap_.insert(pid);
    const bool start = line.find("Init START") != std::string_view::npos;
    const bool complete = line.find("Init COMPLETE") != std::string_view::npos;
    if (start || complete) in_bootstrap_.erase(pid);
    if (complete) ++completed_;
    const auto rank = number_after(line, " rank ");
    const auto size = number_after(line, " nranks ");
    if (start && rank && size) started_[*size].insert(Rank{*rank});
  }

  [[nodiscard]] std::optional<std::string> silence() const {
    if (completed_ > 0) return std::nullopt;
    for (const auto& [size, ranks] : started_)
      if (static_cast<int>(ranks.size()) < size) return missing_of(size, ranks);
    if (!in_bootstrap_.empty())
      return fmt::format("{} processes wait in NCCL's bootstrap", in_bootstrap_.size());
    return std::nullopt;
  }

 private:
  static std::string missing_of(int size, const std::set<Rank>& came) {
    std::vector<Rank> missing;
    for (int value = 0; value < size; ++value)
      if (!came.contains(Rank{value})) missing.push_back(Rank{value});
    return fmt::format("{} of {} ranks never came to NCCL: {}", missing.size(), size,
                       list_of(missing));
  }

  std::set<std::string> in_bootstrap_;     ///< "host:pid", before START (NCCL up to 2.22)
  std::map<int, std::set<Rank>> started_;  ///< number of ranks → those that began
  int completed_ = 0;
};

/// A log may claim any number of ranks; a job has fewer.
constexpr int kMostRanks = 1 << 20;

}  // namespace

std::optional<std::string> nccl_silence(std::string_view log) {
  Progress progress;
  for_each_line(log, [&](const LogLine& line) {
    if (line.kind != LineKind::nccl_info) return;
    if (number_after(line.text, " nranks ").value_or(0) <= kMostRanks) progress.read(line.text);
  });
  return progress.silence();
}

}  // namespace safelaunch
