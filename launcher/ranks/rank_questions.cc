#include "safelaunch/ranks/rank_questions.h"

#include <algorithm>
#include <span>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/ranks/node_counts.h"

// A round of questions to the ranks ends when each question has its answer. Answers that nobody has
// asked for are dropped. The answers are then put beside the watch's own knowledge: which ranks
// wait, which never called the collective that the others are in, and where each of those stands in
// its code.
namespace safelaunch::ranks {
namespace {

// The screen describes the first of them only; the report lists all.
constexpr std::size_t kMostAwaited = 3;

std::string awaited(const MissingRank& suspect, const RankAnswers& answers) {
  const auto stack = answers.stacks.find(suspect.rank);
  std::string text = fmt::format("rank {}", suspect.rank.value);
  // A rank that has just answered was only not looked at yet.
  if (suspect.activity != Activity::unseen || stack == answers.stacks.end())
    text += fmt::format(" ({}{}{})", name(suspect.activity), suspect.doing.empty() ? "" : ": ",
                        suspect.doing);
  if (stack != answers.stacks.end() && !stack->second.where.empty())
    text += ", in " + stack->second.where;
  return text;
}

// The screen describes a few of the places at which ranks stand.
constexpr std::size_t kMostPlaces = 3;

/// "on gpu-17"; empty for a rank of this node.
std::string host_of(Rank rank, const RankAnswers& answers) {
  const auto host = answers.hosts.find(rank);
  return host == answers.hosts.end() ? std::string() : "on " + host->second;
}

std::string places_of(const std::vector<Rank>& ranks, const RankAnswers& answers) {
  std::vector<AlikeRanks> places;
  for (const Rank rank : ranks) {
    const auto stack = answers.stacks.find(rank);
    if (stack == answers.stacks.end() || stack->second.where.empty()) continue;
    const std::string host = host_of(rank, answers);
    add_alike(places, rank, stack->second.where + (host.empty() ? "" : ", " + host));
  }
  std::string text;
  for (const AlikeRanks& place : std::span(places).first(std::min(places.size(), kMostPlaces)))
    text += fmt::format("; {} {} in {}", rank_list(place.ranks),
                        place.ranks.size() == 1 ? "is" : "are", place.words);
  return text;
}

std::vector<Rank> all_with_a_stack(const RankAnswers& answers) {
  std::vector<Rank> ranks;
  for (const auto& [rank, stack] : answers.stacks) ranks.push_back(rank);
  return ranks;
}

/// Of a rank of which both tell something, `ours` holds.
template <class Answer>
void put_before(std::map<Rank, Answer>& others, std::map<Rank, Answer> ours) {
  ours.merge(others);
  others = std::move(ours);
}

/// Why a rank that others wait for says nothing.
std::string silence_of(const std::vector<Rank>& ranks, const watch::StallReport& report,
                       const RankAnswers& answers) {
  std::string text;
  for (const Rank rank : ranks) {
    const auto seen = report.activities.find(rank);
    if (seen != report.activities.end() && seen->second == Activity::stopped)
      text += fmt::format("; rank {} is stopped, by a signal or by its cgroup", rank.value);
    else if (answers.silent.contains(rank))
      text += fmt::format("; rank {} does not answer", rank.value);
  }
  return text;
}

}  // namespace

std::vector<AskedRank> who_can_answer(const std::map<Rank, watch::RankState>& ranks, TimePoint now,
                                      Whom whom) {
  std::vector<AskedRank> found;
  for (const auto& [rank, state] : ranks)
    if (state.alive() && state.process()->is_here() && state.activity(now) != Activity::stopped &&
        (whom == Whom::all || state.reached(Stage::imported)))
      found.push_back({rank, *state.process()});
  return found;
}

RankQuestions::RankQuestions(const std::map<Rank, watch::FirstCall>& calls) {
  for (const auto& [rank, call] : calls) answers_.collectives[rank].first = call;
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
  if (!rank) return rank;
  StackSeen& seen = answers_.stacks[*rank];
  seen = {watch::summarize(answer.threads, watch::Detail::with_package),
          watch::all_frames(answer.threads), answer.handled};
  if (!seen.handled) return rank;
  seen.handled->raised.rank = *rank;
  seen.frames += "handles an exception\n" + seen.handled->raised.traceback;
  return rank;
}

void RankQuestions::was_read(Rank rank, const watch::PythonThread& main_thread) {
  answers_.stacks[rank] = {watch::summarize({main_thread}, watch::Detail::with_package),
                           watch::all_frames({main_thread}),
                           {},
                           true};
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

void AnswersOfNodes::begin(std::set<int> nodes) {
  open_ = std::move(nodes);
  own_open_ = true;
  former_ = true;
  ++question_;
}

// A rank that answered ten minutes ago stands elsewhere by now.
void AnswersOfNodes::forget_former() {
  if (std::exchange(former_, false)) answers_ = {};
}

bool AnswersOfNodes::take_own(const RankAnswers& answers) {
  if (!std::exchange(own_open_, false)) return false;
  forget_former();
  answers_.locks = answers.locks;
  answers_.nameless = answers.nameless;
  put_before(answers_.stacks, answers.stacks);
  put_before(answers_.collectives, answers.collectives);
  put_before(answers_.silent, answers.silent);
  return open_.empty();
}

bool AnswersOfNodes::take(int seat, const std::string& host, const RankAnswers& answers) {
  if (open_.erase(seat) == 0) return false;
  forget_former();
  answers_.stacks.insert(answers.stacks.begin(), answers.stacks.end());
  answers_.collectives.insert(answers.collectives.begin(), answers.collectives.end());
  answers_.silent.insert(answers.silent.begin(), answers.silent.end());
  for (const auto& [rank, stack] : answers.stacks) answers_.hosts[rank] = host;
  for (const auto& [rank, activity] : answers.silent) answers_.hosts[rank] = host;
  return !own_open_ && open_.empty();
}

void AnswersOfNodes::close() {
  own_open_ = false;
  open_.clear();
}

std::vector<watch::ExceptionTold> held_back(const RankAnswers& answers) {
  const auto is_common = [&](const watch::ExceptionTold& told) {
    return std::ranges::all_of(answers.stacks, [&](const auto& one) {
      const auto& handled = one.second.handled;
      return handled && handled->raised.type == told.raised.type &&
             handled->raised.where == told.raised.where;
    });
  };
  std::vector<watch::ExceptionTold> held;
  for (const auto& [rank, stack] : answers.stacks)
    if (stack.handled && stack.handled->leaves && !is_common(*stack.handled)) {
      held.push_back(*stack.handled);
      held.back().raised.rank = rank;
    }
  return held;
}

std::string in_words(const RankRaised& raised) {
  constexpr std::size_t kLongest = 200;
  std::string text = raised.type;
  if (!raised.message.empty())
    text += fmt::format(": {}", cut(raised.message.substr(0, raised.message.find('\n')), kLongest));
  return raised.where.empty() ? text : text + " in " + raised.where;
}

std::string describe_held_back(const watch::ExceptionTold& told) {
  return fmt::format("rank {} raised {}, and waits before anybody sees it", told.raised.rank.value,
                     in_words(told.raised));
}

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
    text = fmt::format("no rank gets through {}: ", name(waiting.stage.value_or(Stage::spawned)));
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

std::string where_ranks_stand(const RankAnswers& answers) {
  std::vector<AlikeRanks> places;
  for (const auto& [rank, stack] : answers.stacks)
    if (!stack.where.empty()) add_alike(places, rank, stack.where);
  if (places.empty()) return {};  // no hook answers, so nobody's silence is news
  std::ranges::stable_sort(places, {}, [](const AlikeRanks& one) { return one.ranks.size(); });
  std::vector<std::string> words;
  for (const AlikeRanks& place : std::span(places).first(std::min(places.size(), kMostPlaces)))
    words.push_back(fmt::format("{} in {}", rank_list(place.ranks), place.words));
  if (places.size() > kMostPlaces)
    words.push_back(fmt::format("others in {} more places", places.size() - kMostPlaces));
  std::vector<AlikeRanks> silent;
  for (const auto& [rank, activity] : answers.silent) add_alike(silent, rank, name(activity));
  for (const AlikeRanks& those : silent)
    words.push_back(
        fmt::format("{}, which did not answer ({})", rank_list(those.ranks), those.words));
  return join(words, "; ");
}

void put_place(const RankAnswers& answers, MissingRank& missing) {
  const auto answer = answers.stacks.find(missing.rank);
  if (answer == answers.stacks.end()) return;
  missing.where = answer->second.where;
  missing.stack = answer->second.frames;
  missing.known = missing.known || !missing.where.empty();
}

watch::StallReport stall_as_answered(const RankAnswers& answers, Duration silent_for) {
  watch::StallReport report;
  report.silent_for = silent_for;
  std::int64_t most = 0;
  for (const auto& [rank, seen] : answers.collectives)
    if (!seen.groups.empty()) {
      report.counters[rank] = sum_of(seen.groups);
      most = std::max(most, report.counters[rank].begun);
    }
  if (!watch::compare(answers.collectives).waiting.empty()) return report;
  report.lagging = watch::lagging(report.counters);
  std::erase_if(report.lagging, [&](Rank rank) { return report.counters[rank].begun == most; });
  return report;
}

Failure verdict_of(watch::StallReport report, const RankAnswers& answers) {
  const watch::CollectivesCompared compared = watch::compare(answers.collectives);
  // Its counters are older than its answer here: it has come since, and waits.
  if (!compared.behind.empty())
    std::erase_if(report.lagging, [&](Rank rank) {
      return std::ranges::find(compared.waiting, rank) != compared.waiting.end();
    });
  const std::vector<Rank>& behind = compared.behind.empty() ? report.lagging : compared.behind;
  Failure verdict{.kind = FailureKind::stalled, .stage = Stage::collective};
  for (const Rank rank : compared.waiting)
    if (std::ranges::find(behind, rank) == behind.end()) verdict.waiting.push_back(rank);
  for (const Rank rank : behind) {
    verdict.missing.push_back({.rank = rank, .doing = host_of(rank, answers), .known = false});
    if (const auto seen = report.activities.find(rank); seen != report.activities.end())
      verdict.missing.back().activity = seen->second;
  }
  if (!behind.empty()) verdict.waited = report.silent_for;
  std::string text = describe(report);
  for (const std::string& more : {compared.contradiction, compared.behind_what,
                                  compared.together_in, compared.store_waits, answers.nameless})
    if (!more.empty()) text += "; " + more;
  // Who makes a group may be wrong as well as who does not come to it, and who waits behind the
  // others waits for one of them.
  std::vector<Rank> placed = report.meeting;
  for (const Rank rank : behind.empty() ? verdict.waiting : behind)
    if (std::ranges::find(placed, rank) == placed.end()) placed.push_back(rank);
  const auto waits = [&](Rank rank) { return report.waiting.contains(rank); };
  if (placed.empty() || (!behind.empty() && std::ranges::all_of(behind, waits)))
    placed = all_with_a_stack(answers);
  text += silence_of(behind, report, answers);
  for (const watch::ExceptionTold& told : held_back(answers))
    text += "; " + describe_held_back(told);
  verdict.proof = text + places_of(placed, answers);
  return verdict;
}

}  // namespace safelaunch::ranks
