#include "stall_verdict.h"

#include <algorithm>

#include "safelaunch/base/format.h"

namespace safelaunch::run {
namespace {

// Of a thousand ranks that are behind a few tell enough.
constexpr std::size_t kMostPlaces = 3;

std::string places_of(const std::vector<Rank>& ranks, const RankAnswers& answers) {
  std::string text;
  std::size_t told = 0;
  for (const Rank rank : ranks) {
    const auto stack = answers.stacks.find(rank);
    if (stack == answers.stacks.end() || stack->second.where.empty()) continue;
    if (++told > kMostPlaces) break;
    text += fmt::format("; rank {} is in {}", rank.value, stack->second.where);
  }
  return text;
}

}  // namespace

Failure verdict_of(const watch::StallReport& report, const RankAnswers& answers) {
  const watch::CollectivesCompared compared = watch::compare(answers.collectives);
  const std::vector<Rank>& behind = compared.behind.empty() ? report.lagging : compared.behind;
  Failure verdict{.kind = FailureKind::stalled, .stage = Stage::collective};
  for (const Rank rank : compared.waiting)
    if (std::ranges::find(behind, rank) == behind.end()) verdict.waiting.push_back(rank);
  for (const Rank rank : behind) verdict.missing.push_back({.rank = rank, .known = false});
  if (!behind.empty()) verdict.waited = report.silent_for;
  std::string text = describe(report);
  for (const std::string& more : {compared.contradiction, compared.behind_what})
    if (!more.empty()) text += "; " + more;
  verdict.proof = text + places_of(behind.empty() ? verdict.waiting : behind, answers);
  return verdict;
}

}  // namespace safelaunch::run
