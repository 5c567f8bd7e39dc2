#include "safelaunch/run/rank_inquiry.h"

#include <sys/stat.h>

#include "safelaunch/base/format.h"
#include "safelaunch/report/run_directory.h"

namespace safelaunch::run {
namespace {

std::string frames_of(const watch::StackAnswer& answer) {
  std::string text;
  for (const watch::PythonThread& thread : answer.threads) {
    text += "thread " + thread.name + " (innermost last)\n";
    for (const std::string& frame : thread.frames) text += "  " + frame + "\n";
  }
  return text;
}

}  // namespace

void RankInquiry::begin(const std::map<Rank, watch::RankState>& ranks,
                        const std::filesystem::path& directory, Duration limit, const Ask& ask,
                        Done done) {
  done_ = std::move(done);
  asked_.clear();
  answers_ = {};
  if (!directory.empty()) {
    evidence_ = directory / "evidence";
    mkdir(evidence_.c_str(), 0700);  // where it fails nothing is kept, and that is all
  }
  for (const auto& [rank, state] : ranks) {
    if (!state.alive() || state.activity(Clock::now()) == Activity::stopped) continue;
    const ProcessId process = *state.process();
    for (const watch::HookQuestion question :
         {watch::HookQuestion::stack, watch::HookQuestion::counters,
          watch::HookQuestion::collectives})
      if (ask(process, question))
        asked_.try_emplace(process, Asked{rank, {}}).first->second.open.insert(question);
  }
  finish_soon(asked_.empty() ? Duration::zero() : limit);
}

std::optional<Rank> RankInquiry::close(ProcessId process, watch::HookQuestion question) {
  const auto found = asked_.find(process);
  if (found == asked_.end() || found->second.open.erase(question) == 0) return std::nullopt;
  const Rank rank = found->second.rank;
  if (found->second.open.empty()) asked_.erase(found);
  if (asked_.empty()) finish_soon(Duration::zero());
  return rank;
}

void RankInquiry::answered(ProcessId process, const watch::StackAnswer& answer) {
  const auto rank = close(process, watch::HookQuestion::stack);
  if (!rank) return;
  const StackSeen& seen =
      answers_.stacks[*rank] = {watch::summarize(answer.threads), frames_of(answer)};
  if (!evidence_.empty())
    (void)report::write_atomically(evidence_ / fmt::format("rank-{}.stack", rank->value),
                                   seen.frames);
}

void RankInquiry::answered(ProcessId process, const watch::CountersAnswer& answer) {
  const auto rank = close(process, watch::HookQuestion::counters);
  if (!rank) return;
  watch::RankCollectives& seen = answers_.collectives[*rank];
  seen.groups = answer.groups;
  for (const auto& [name, active] : answer.waits)
    if (active > 0) seen.waits.push_back(name);
}

void RankInquiry::answered(ProcessId process, const watch::CollectivesAnswer& answer) {
  const auto rank = close(process, watch::HookQuestion::collectives);
  if (!rank) return;
  watch::RankCollectives& seen = answers_.collectives[*rank];
  seen.told = true;
  seen.last = answer.last;
  seen.members = answer.members;
}

void RankInquiry::keep_collectives() const {
  if (evidence_.empty() || answers_.collectives.empty()) return;
  std::string text;
  for (const auto& [rank, seen] : answers_.collectives)
    text += fmt::format("rank {}: {}\n", rank.value, describe(seen));
  (void)report::write_atomically(evidence_ / "collectives", text);
}

void RankInquiry::finish_soon(Duration after) {
  timer_.expires_after(after);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled || !done_) return;
    keep_collectives();
    std::exchange(done_, nullptr)(std::move(answers_));
  });
}

}  // namespace safelaunch::run
