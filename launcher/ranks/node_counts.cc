#include "safelaunch/ranks/node_counts.h"

#include <boost/asio/io_context.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"

// What one node tells the leader of its ranks in training: as a value, as JSON, and how it is
// found.
namespace safelaunch::ranks {
namespace {

using CountsJson = nlohmann::json;

constexpr int kGreatestRank = 10'000'000;

// -1 is torch's word for "none yet".
void add_count(std::int64_t count, std::int64_t& sum) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  count = std::max<std::int64_t>(count, 0);
  sum = count > kMost - sum ? kMost : sum + count;
}

CountsJson json_of(const RankCounted& counted) {
  const auto& [collectives, uncounted] = counted;
  return {{"begun", collectives.begun},
          {"finished", collectives.finished},
          {"groups", collectives.groups},
          {"uncounted", name(uncounted)}};
}

RankCounted counted_from(const CountsJson& json) {
  RankCounted counted;
  counted.collectives = {number_of<std::int64_t>(json, "begun").value_or(0),
                         number_of<std::int64_t>(json, "finished").value_or(0),
                         number_of(json, "groups").value_or(0)};
  counted.uncounted = watch::uncounted_named(text_of(json, "uncounted"));
  return counted;
}

}  // namespace

watch::Collectives sum_of(const std::map<std::string, watch::GroupCounters>& groups) {
  watch::Collectives sum{.groups = static_cast<int>(groups.size())};
  for (const auto& [group, counters] : groups) {
    add_count(counters.enqueued, sum.begun);
    add_count(counters.completed, sum.finished);
  }
  return sum;
}

RankCounted counted_by(const watch::CountersAnswer& answer) {
  return {sum_of(answer.groups), answer.uncounted};
}

std::string to_text(const NodeCounts& counts) {
  CountsJson ranks = CountsJson::array();
  for (const auto& [rank, activity] : counts.activities) {
    const auto counted = counts.ranks.find(rank);
    CountsJson one =
        counted == counts.ranks.end() ? CountsJson::object() : json_of(counted->second);
    one["rank"] = rank.value;
    one["activity"] = name(activity);
    ranks.push_back(std::move(one));
  }
  return CountsJson{{"question", counts.question},
                    {"wrote", counts.wrote},
                    {"others_work", counts.others_work},
                    {"ranks", std::move(ranks)}}
      .dump();
}

Result<NodeCounts> counts_from(std::string_view text) {
  const CountsJson json = parse_json<CountsJson>(text);
  const CountsJson* list = array_if(json, "ranks");
  const auto question = number_of(json, "question", 1, std::numeric_limits<int>::max());
  if (!question || list == nullptr || list->size() > static_cast<std::size_t>(kMostRanksOfANode))
    return Error{Errc::peer_lost, fmt::format("the counters of the ranks lack their {}",
                                              question ? "\"ranks\"" : "\"question\"")};
  NodeCounts counts{.question = *question};
  counts.wrote = is_true(json, "wrote");
  counts.others_work = is_true(json, "others_work");
  for (const CountsJson& one : *list) {
    const auto rank = number_of(one, "rank", 0, kGreatestRank);
    if (!rank) return Error{Errc::peer_lost, "the counters of a rank lack its \"rank\""};
    counts.activities[Rank{*rank}] = activity_named(text_of(one, "activity"));
    if (field_of(one, "begun") != nullptr) counts.ranks[Rank{*rank}] = counted_from(one);
  }
  return counts;
}

void CountRound::begin(int question) {
  if (question == 0 || question == std::exchange(last_question_, question)) return;
  TrainingLook::Seen seen = look_.look(ranks_, Clock::now());
  open_ = NodeCounts{.question = question,
                     .activities = std::move(seen.ranks),
                     .wrote = std::exchange(wrote_, false),
                     .others_work = seen.others == Activity::working};
  timer_.set_after(watch::kHookAnswersWithin, [this] { finish(); });
  ask_(question);
}

void CountRound::answered(Rank rank, const watch::CountersAnswer& answer) {
  if (!open_ || answer.id != open_->question || !open_->activities.contains(rank)) return;
  open_->ranks[rank] = counted_by(answer);
  if (open_->ranks.size() == open_->activities.size()) finish();
}

void CountRound::finish() {
  timer_.cancel();
  if (const auto found = std::exchange(open_, std::nullopt)) tell_(*found);
}

}  // namespace safelaunch::ranks
