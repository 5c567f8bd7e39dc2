#include "safelaunch/run/stack_collection.h"

#include <sys/stat.h>

#include "safelaunch/report/run_directory.h"

namespace safelaunch {
namespace {

std::string frames_of(const StackAnswer& answer) {
  std::string text;
  for (const PythonThread& thread : answer.threads) {
    text += "thread " + thread.name + " (innermost last)\n";
    for (const std::string& frame : thread.frames) text += "  " + frame + "\n";
  }
  return text;
}

}  // namespace

void StackCollection::begin(const std::map<Rank, RankState>& ranks,
                            const std::filesystem::path& directory, Duration limit, const Ask& ask,
                            Done done) {
  done_ = std::move(done);
  if (!directory.empty()) {
    evidence_ = directory / "evidence";
    mkdir(evidence_.c_str(), 0700);  // where it fails nothing is kept, and that is all
  }
  for (const auto& [rank, state] : ranks) {
    const bool deaf = !state.alive() || state.activity(Clock::now()) == Activity::stopped;
    if (!deaf && ask(*state.process(), rank.value)) asked_.emplace(*state.process(), rank);
  }
  finish_soon(asked_.empty() ? Duration::zero() : limit);
}

void StackCollection::answered(ProcessId process, const StackAnswer& answer) {
  const auto found = asked_.find(process);
  if (found == asked_.end()) return;
  StackSeen& seen = seen_[found->second];
  seen = {summarize(answer.threads), frames_of(answer)};
  keep(found->second, seen.frames);
  asked_.erase(found);
  if (asked_.empty()) finish_soon(Duration::zero());
}

void StackCollection::keep(Rank rank, const std::string& frames) const {
  if (evidence_.empty()) return;
  (void)write_atomically(evidence_ / ("rank-" + std::to_string(rank.value) + ".stack"), frames);
}

void StackCollection::finish_soon(Duration after) {
  timer_.expires_after(after);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled && done_) std::exchange(done_, nullptr)(std::move(seen_));
  });
}

}  // namespace safelaunch
