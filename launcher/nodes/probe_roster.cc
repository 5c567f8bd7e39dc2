#include "probe_roster.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "safelaunch/agree/decision.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/probe/probe_diagnosis.h"

// A node takes part if it has told of ranks and of no trouble; its agreement must name the same
// number of ranks as its facts do, else it counts as one without any. Within a round a node acts on
// a word about its own group alone, and on each such word once: the leader says the whole word
// again whenever one group gets further.
namespace safelaunch::nodes {
namespace {

using ProbedJson = nlohmann::json;

constexpr std::size_t kLongestTold = 1'000;
constexpr int kMostRanksHere = 1'024;

constexpr std::array kTextFields{
    std::pair{"host", &ProbedNode::host},           std::pair{"gpus", &ProbedNode::gpus},
    std::pair{"cuda", &ProbedNode::cuda},           std::pair{"nccl", &ProbedNode::nccl},
    std::pair{"interface", &ProbedNode::interface}, std::pair{"address", &ProbedNode::address},
    std::pair{"profiles", &ProbedNode::profiles},   std::pair{"trouble", &ProbedNode::trouble}};

probe::Verdict numbered_from(int first, probe::Verdict verdict) {
  if (auto* failed = std::get_if<probe::Failed>(&verdict))
    for (probe::RankFailure& one : failed->failures) one.rank += first;
  if (auto* hung = std::get_if<probe::Hung>(&verdict))
    for (int& rank : hung->ranks) rank += first;
  return verdict;
}

}  // namespace

std::string other_profiles(const ProbedNodes& nodes) {
  const ProbedNode& leader = nodes.at(0);
  for (const auto& [seat, node] : nodes)
    if (node.profiles != leader.profiles)
      return fmt::format("{} (node {}) is to probe {}, and {} {}: give all nodes the same options",
                         node.host, seat, node.profiles, leader.host, leader.profiles);
  return {};
}

std::string to_text(const ProbedNode& node) {
  ProbedJson json{{"ranks", node.ranks}};
  for (const auto& [name, field] : kTextFields) json[name] = cut(node.*field, kLongestTold);
  return json.dump(-1, ' ', false, ProbedJson::error_handler_t::replace);
}

ProbedNode probed_node_from(std::string_view text) {
  const ProbedJson json = parse_json<ProbedJson>(text);
  ProbedNode node;
  node.ranks = number_of(json, "ranks", 0, kMostRanksHere).value_or(0);
  for (const auto& [name, field] : kTextFields) node.*field = text_of(json, name, kLongestTold);
  return node;
}

Roster roster_of(const ProbedNode& here, const std::map<int, agree::Standing>& standings) {
  Roster roster;
  roster.nodes[0] = here;
  for (const auto& [seat, standing] : standings) {
    const Result<agree::NodeNews> news = agree::news_from(standing.text);
    ProbedNode& node = roster.nodes[seat];
    node = probed_node_from(news ? news->facts : "");
    node.host = standing.host;
    if (!news || news->workers != node.ranks) node.ranks = news ? news->workers : 0;
  }
  roster.differ = other_profiles(roster.nodes);
  for (const auto& [seat, node] : roster.nodes) {
    if (node.trouble.empty() && node.ranks > 0)
      roster.able.push_back(seat);
    else
      roster.ill[seat] = node.trouble.empty() ? "it has told of no GPU" : node.trouble;
  }
  return roster;
}

std::vector<int> ranks_of(const ProbedNodes& nodes) {
  std::vector<int> ranks;
  for (const auto& [seat, node] : nodes) ranks.push_back(node.ranks);
  return ranks;
}

std::string lost_in_words(const std::set<int>& lost, const ProbedNodes& nodes) {
  std::vector<std::string> names;
  for (const int seat : lost)
    names.push_back(fmt::format("node {} ({})", seat, nodes.at(seat).host));
  return fmt::format("{} {} lost while ranks were probed", list_in_words(names),
                     names.size() == 1 ? "was" : "were");
}

RoundHere::RoundHere(int round, std::string_view note, int seat, const std::vector<int>& ranks)
    : told_{round} {
  if (const auto word = probe::round_word_from(note)) place_ = probe::place_in(*word, seat, ranks);
}

void RoundHere::ready(const std::string& id) {
  told_.ready = true;
  told_.id = id;
}

void RoundHere::over(const probe::Outcome& outcome) {
  told_.verdict = numbered_from(place_->part.first, outcome.verdict);
  told_.cut_short = outcome.cut_short;
  if (probe::stopped_at(outcome.verdict)) told_.cause = probe::cause_of(outcome);
  // Ranks that are aborted after a hang lose each other.
  const bool hung = std::holds_alternative<probe::Hung>(outcome.verdict);
  if (hung && told_.cause == cause::kPeerLost) told_.cause.clear();
}

std::optional<std::string> RoundHere::id_to_meet(const probe::RoundWord& word) {
  if (!place_ || word.round != told_.round) return std::nullopt;
  const auto id = word.ids.find(place_->group);
  if (id == word.ids.end() || std::exchange(met_, true)) return std::nullopt;
  return id->second;
}

bool RoundHere::others_are_over(const probe::RoundWord& word) {
  if (!place_ || word.round != told_.round) return false;
  const bool over = std::ranges::find(word.over, place_->group) != word.over.end();
  return over && !std::exchange(others_over_, true);
}

}  // namespace safelaunch::nodes
