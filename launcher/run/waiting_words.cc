#include "waiting_words.h"

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"

namespace safelaunch::run {
namespace {

// Of many the first tells enough; the report has them all.
constexpr std::size_t kMostAwaited = 3;

std::string awaited(const MissingRank& suspect, const RankAnswers& answers) {
  std::string text = fmt::format("rank {} ({}{}{})", suspect.rank.value, name(suspect.activity),
                                 suspect.doing.empty() ? "" : ": ", suspect.doing);
  const auto stack = answers.stacks.find(suspect.rank);
  if (stack != answers.stacks.end() && !stack->second.where.empty())
    text += ", which is in " + stack->second.where;
  return text;
}

}  // namespace

std::string who_waits_for_whom(const Failure& waiting, const RankAnswers& answers) {
  if (waiting.missing.empty())
    return fmt::format("{} all wait in {}", rank_list(waiting.waiting),
                       name(waiting.stage.value_or(Stage::spawned)));
  std::string text;
  if (!waiting.waiting.empty()) {
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(waiting.waited);
    text = fmt::format("{} {} waited {} in {} for ", rank_list(waiting.waiting),
                       waiting.waiting.size() == 1 ? "has" : "have", describe_duration(waited),
                       name(waiting.stage.value_or(Stage::spawned)));
  } else {
    text = fmt::format("nobody comes through {}: ", name(waiting.stage.value_or(Stage::spawned)));
  }
  std::size_t told = 0;
  for (const MissingRank& suspect : waiting.missing) {
    if (++told > kMostAwaited) break;
    text += (told > 1 ? "; " : "") + awaited(suspect, answers);
  }
  if (waiting.missing.size() > kMostAwaited)
    text += fmt::format("; and {} more", waiting.missing.size() - kMostAwaited);
  return text;
}

}  // namespace safelaunch::run
