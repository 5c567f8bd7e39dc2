#include "safelaunch/ranks/node_answers.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "safelaunch/base/json_fields.h"

// The groups of a large world have many members: they travel as runs of ranks.
namespace safelaunch::ranks {
namespace {

using AnswersJson = nlohmann::json;
using State = watch::CollectiveSeen::State;

constexpr std::size_t kLongestFrames = 8'192;
constexpr std::size_t kLongestWhere = 4'096;
constexpr std::size_t kLongestName = 128;
constexpr std::array kStateNames{"enqueued", "started", "finished"};

AnswersJson runs_of(const std::vector<Rank>& ranks) {
  AnswersJson runs = AnswersJson::array();
  for (const Rank rank : ranks) {
    if (!runs.empty() && runs.back()[1].get<int>() + 1 == rank.value)
      runs.back()[1] = rank.value;
    else
      runs.push_back({rank.value, rank.value});
  }
  return runs;
}

std::vector<Rank> ranks_from(const AnswersJson& runs) {
  std::vector<Rank> ranks;
  if (!runs.is_array()) return ranks;
  for (const AnswersJson& run : runs) {
    if (!run.is_array() || run.size() != 2) continue;
    const int first = std::max(as_number(run[0]).value_or(0), 0);
    const int last = std::min(as_number(run[1]).value_or(-1), watch::kMostRanks - 1);
    if (ranks.size() > static_cast<std::size_t>(watch::kMostRanks)) break;
    for (int rank = first; rank <= last; ++rank) ranks.push_back(Rank{rank});
  }
  return ranks;
}

AnswersJson json_of(const watch::FirstCall& call) {
  AnswersJson json{{"operation", call.operation},
                   {"group", call.group},
                   {"members", runs_of(call.members)},
                   {"tag", call.tag},
                   {"blocks", call.blocks},
                   {"open", call.open}};
  if (call.peer) json["peer"] = call.peer->value;
  return json;
}

watch::FirstCall call_from(const AnswersJson& json) {
  watch::FirstCall call{text_of(json, "operation", kLongestName),
                        text_of(json, "group", kLongestName)};
  if (const AnswersJson* members = field_of(json, "members")) call.members = ranks_from(*members);
  if (const auto peer = number_of(json, "peer", 0, watch::kMostRanks - 1)) call.peer = Rank{*peer};
  call.tag = number_of<std::int64_t>(json, "tag").value_or(0);
  call.blocks = is_true(json, "blocks");
  call.open = is_true(json, "open");
  return call;
}

AnswersJson json_of(const watch::RankCollectives& rank) {
  AnswersJson json{{"told", rank.told}, {"waits", rank.waits}};
  if (rank.first) json["first"] = json_of(*rank.first);
  for (const auto& [group, counters] : rank.groups)
    json["groups"][group] = {counters.enqueued, counters.started, counters.completed};
  for (const auto& [group, members] : rank.members) json["members"][group] = runs_of(members);
  for (const watch::CollectiveSeen& one : rank.last)
    json["last"].push_back({one.group, one.number, one.operation,
                            kStateNames.at(static_cast<std::size_t>(one.state))});
  return json;
}

std::optional<watch::CollectiveSeen> collective_from(const AnswersJson& entry) {
  const bool is_one = entry.is_array() && entry.size() == kStateNames.size() + 1 &&
                      entry[0].is_string() && entry[2].is_string() && entry[3].is_string();
  const auto number = is_one ? as_number<std::int64_t>(entry[1]) : std::nullopt;
  if (!number) return std::nullopt;
  const auto* state = std::ranges::find(kStateNames, entry[3].get<std::string>());
  if (state == kStateNames.end()) return std::nullopt;
  return watch::CollectiveSeen{std::string(cut(entry[0].get<std::string>(), kLongestName)), *number,
                               std::string(cut(entry[2].get<std::string>(), kLongestName)),
                               static_cast<State>(state - kStateNames.begin())};
}

watch::GroupCounters counters_from(const AnswersJson& json) {
  const auto at = [&](std::size_t place) {
    const bool is_there = json.is_array() && json.size() == 3;
    return is_there ? as_number<std::int64_t>(json[place]).value_or(0) : 0;
  };
  return {at(0), at(1), at(2)};
}

watch::RankCollectives collectives_from(const AnswersJson& json) {
  watch::RankCollectives rank;
  rank.told = is_true(json, "told");
  rank.waits = texts_of(json, "waits", kNoLimit, kLongestName);
  if (const AnswersJson* first = field_of(json, "first")) rank.first = call_from(*first);
  for (const auto& [group, counters] : object_of(json, "groups").items())
    rank.groups[group] = counters_from(counters);
  for (const auto& [group, members] : object_of(json, "members").items())
    rank.members[group] = ranks_from(members);
  for (const AnswersJson& entry : array_of(json, "last"))
    if (auto one = collective_from(entry)) rank.last.push_back(*std::move(one));
  return rank;
}

AnswersJson json_of(const RankAnswers& answers, bool with_collectives) {
  std::map<Rank, AnswersJson> ranks;
  for (const auto& [rank, stack] : answers.stacks) {
    ranks[rank]["where"] = stack.where;
    ranks[rank]["frames"] = cut(stack.frames, kLongestFrames);
  }
  for (const auto& [rank, activity] : answers.silent) ranks[rank]["silent"] = name(activity);
  if (with_collectives)
    for (const auto& [rank, called] : answers.collectives)
      ranks[rank]["collectives"] = json_of(called);
  AnswersJson list = AnswersJson::array();
  for (auto& [rank, json] : ranks) {
    json["rank"] = rank.value;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

std::string to_text(const RankAnswers& answers, std::size_t longest) {
  for (const bool with_collectives : {true, false}) {
    std::string text = json_of(answers, with_collectives)
                           .dump(-1, ' ', false, AnswersJson::error_handler_t::replace);
    if (text.size() <= longest || !with_collectives) return text;
  }
  return {};
}

Result<RankAnswers> answers_from(std::string_view text) {
  const AnswersJson list = parse_json<AnswersJson>(text);
  if (!list.is_array() || list.size() > static_cast<std::size_t>(kMostRanksOfANode))
    return Error{Errc::peer_lost, "the answers of the ranks are not a list"};
  RankAnswers answers;
  for (const AnswersJson& json : list) {
    const auto number = number_of(json, "rank", 0, watch::kMostRanks - 1);
    if (!number) continue;
    const Rank rank{*number};
    if (field_of(json, "where") != nullptr)
      answers.stacks[rank] = {text_of(json, "where", kLongestWhere),
                              text_of(json, "frames", kLongestFrames)};
    if (field_of(json, "silent") != nullptr)
      answers.silent[rank] = activity_named(text_of(json, "silent"));
    if (const AnswersJson* called = field_of(json, "collectives"))
      answers.collectives[rank] = collectives_from(*called);
  }
  return answers;
}

}  // namespace safelaunch::ranks
