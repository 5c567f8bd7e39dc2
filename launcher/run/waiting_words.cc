#include "safelaunch/run/waiting_words.h"

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"

namespace safelaunch {
namespace {

// Of many the first tells enough; the report has them all.
constexpr std::size_t kMostAwaited = 3;

std::string awaited(const Suspect& suspect, const RankAnswers& answers) {
  std::string text = fmt::format("rank {} ({}{}{})", suspect.rank.value, name(suspect.activity),
                                 suspect.doing.empty() ? "" : ": ", suspect.doing);
  const auto stack = answers.stacks.find(suspect.rank);
  if (stack != answers.stacks.end() && !stack->second.where.empty())
    text += ", which is in " + stack->second.where;
  return text;
}

}  // namespace

std::string who_waits_for_whom(const Verdict& waiting, const RankAnswers& answers) {
  if (waiting.suspects.empty())
    return fmt::format("{} all wait in {}", rank_list(waiting.waiting), name(waiting.stage));
  std::string text;
  if (!waiting.waiting.empty()) {
    const auto waited =
        std::chrono::duration_cast<std::chrono::seconds>(waiting.suspects.front().waited_for);
    text = fmt::format("{} {} waited {} in {} for ", rank_list(waiting.waiting),
                       waiting.waiting.size() == 1 ? "has" : "have", describe_duration(waited),
                       name(waiting.stage));
  } else {
    text = fmt::format("nobody comes through {}: ", name(waiting.stage));
  }
  std::size_t told = 0;
  for (const Suspect& suspect : waiting.suspects) {
    if (++told > kMostAwaited) break;
    text += (told > 1 ? "; " : "") + awaited(suspect, answers);
  }
  if (waiting.suspects.size() > kMostAwaited)
    text += fmt::format("; and {} more", waiting.suspects.size() - kMostAwaited);
  return text;
}

}  // namespace safelaunch
