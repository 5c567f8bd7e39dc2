#include "safelaunch/run/rank_questions.h"

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

std::vector<AskedRank> who_can_answer(const std::map<Rank, watch::RankState>& ranks,
                                      TimePoint now) {
  std::vector<AskedRank> found;
  for (const auto& [rank, state] : ranks)
    if (state.alive() && state.activity(now) != Activity::stopped)
      found.push_back({rank, *state.process()});
  return found;
}

void RankQuestions::open(const AskedRank& to, watch::HookQuestion question) {
  asked_.try_emplace(to.process, Asked{to.rank, {}}).first->second.open.insert(question);
}

std::optional<Rank> RankQuestions::close(ProcessId process, watch::HookQuestion question) {
  const auto found = asked_.find(process);
  if (found == asked_.end() || found->second.open.erase(question) == 0) return std::nullopt;
  const Rank rank = found->second.rank;
  if (found->second.open.empty()) asked_.erase(found);
  return rank;
}

std::optional<Rank> RankQuestions::answered(ProcessId process, const watch::StackAnswer& answer) {
  const auto rank = close(process, watch::HookQuestion::stack);
  if (rank) answers_.stacks[*rank] = {watch::summarize(answer.threads), frames_of(answer)};
  return rank;
}

std::optional<Rank> RankQuestions::answered(ProcessId process,
                                            const watch::CountersAnswer& answer) {
  const auto rank = close(process, watch::HookQuestion::counters);
  if (!rank) return rank;
  watch::RankCollectives& seen = answers_.collectives[*rank];
  seen.groups = answer.groups;
  for (const auto& [name, active] : answer.waits)
    if (active > 0) seen.waits.push_back(name);
  return rank;
}

std::optional<Rank> RankQuestions::answered(ProcessId process,
                                            const watch::CollectivesAnswer& answer) {
  const auto rank = close(process, watch::HookQuestion::collectives);
  if (!rank) return rank;
  watch::RankCollectives& seen = answers_.collectives[*rank];
  seen.told = true;
  seen.last = answer.last;
  seen.members = answer.members;
  return rank;
}

}  // namespace safelaunch::run
