#include "roll_call.h"

#include <algorithm>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/strings.h"

// A node counts as ready, or as over, by its newest news alone, and the two counts are moved on
// with each piece of news, so nobody walks over all nodes. News from before the order to start
// says nothing about the attempt. A node whose process has come anew is one that was lost.
namespace safelaunch::agree {
namespace {

// More names than these make no line clearer.
constexpr std::size_t kMostNames = 8;

bool is_idle(const NodeNews& news) {
  return news.phase != NodePhase::going;
}

}  // namespace

void RollCall::note(const Standing& standing, std::optional<NodeNews> news, TimePoint now) {
  const int seat = standing.seat;
  const auto known = nodes_.find(seat);
  if (known != nodes_.end() && known->second.standing.incarnation != standing.incarnation)
    vacate(seat, now);
  hosts_[seat] = standing.host;
  gone_.erase(seat);
  Node& node = nodes_[seat];
  node.standing = standing;
  node.news = std::move(news);
  judge(seat);
}

void RollCall::vacate(int seat, TimePoint now) {
  const auto node = nodes_.find(seat);
  if (node == nodes_.end()) return;
  // A node that has not left was heard last `silent_after_` ago, because the board frees its seat
  // only then.
  const bool left = node->second.news && node->second.news->phase == NodePhase::leaving;
  gone_[seat] = {left ? now : now - silent_after_, left};
  if (node->second.ready) --ready_;
  nodes_.erase(node);
  const auto sent = sent_.find(seat);
  if (sent == sent_.end() || !sent->second.running) return;
  take_over(sent->second);
  lost_.insert(seat);
  fail(fmt::format("{} is gone", name_of(seat)));
}

void RollCall::call(std::uint64_t word) {
  called_ = word;
  sent_by_ = 0;
  sent_.clear();
  running_ = 0;
  lost_.clear();
  exit_codes_.clear();
  failure_.clear();
  for (auto& [seat, node] : nodes_) judge_ready(node);
}

void RollCall::send_off(std::uint64_t word) {
  sent_by_ = word;
  for (const auto& [seat, node] : nodes_) sent_[seat] = {node.standing.incarnation, true};
  running_ = static_cast<int>(sent_.size());
}

bool RollCall::alone() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& one) {
    const auto& news = one.second.news;
    return one.first == 0 || (news && news->phase == NodePhase::leaving);
  });
}

void RollCall::judge(int seat) {
  judge_ready(nodes_.at(seat));
  const auto sent = sent_.find(seat);
  if (sent != sent_.end() && sent->second.running) judge_sent(seat, sent->second);
}

// A node must have heard the very word that calls it, since its news from before may be of an
// earlier attempt.
void RollCall::judge_ready(Node& node) {
  const bool ready =
      node.news && node.news->phase == NodePhase::ready && node.news->heard == called_;
  if (ready != node.ready) ready_ += ready ? 1 : -1;
  node.ready = ready;
}

// News of before the order to start says nothing about the attempt.
void RollCall::judge_sent(int seat, Sent& sent) {
  const auto& news = nodes_.at(seat).news;
  if (!news || !is_idle(*news) || news->heard < sent_by_) return;
  take_over(sent);
  exit_codes_.insert(news->end ? std::optional(news->end->exit_code) : std::nullopt);
  if (news->end && news->end->killed) {
    lost_.insert(seat);
    return fail(fmt::format("no word from {} for too long", name_of(seat)));
  }
  const bool ended = news->phase == NodePhase::ended || news->phase == NodePhase::stopped;
  if (!ended && news->phase != NodePhase::leaving)
    return fail(fmt::format("{} has not started the attempt", name_of(seat)));
  if (news->end && news->end->exit_code != 0)
    fail(fmt::format("the attempt ended on {} with {}", name_of(seat), news->end->exit_code));
}

int RollCall::status_after(int of_signal) const {
  if (!lost_.empty()) return of_signal;
  if (exit_codes_ == std::set<std::optional<int>>{0}) return 0;
  const auto own = std::ranges::find_if(exit_codes_, [&](std::optional<int> code) {
    return code && *code != 0 && code != of_signal;
  });
  return own == exit_codes_.end() ? of_signal : **own;
}

void RollCall::take_over(Sent& sent) {
  sent.running = false;
  --running_;
}

// The first failure is kept, because the later ones are mostly its consequences.
void RollCall::fail(const std::string& why) {
  if (failure_.empty()) failure_ = why;
}

// The diagnosis needs an end of every node. A node that is here without one has not started its
// ranks, and that is the end that it gets.
std::map<int, NodeNews> RollCall::news_of_others() const {
  std::map<int, NodeNews> all;
  for (const auto& [seat, node] : nodes_) {
    if (seat == 0 || !node.news || lost_.contains(seat)) continue;
    NodeNews& news = all.emplace(seat, *node.news).first->second;
    const bool ended = news.phase == NodePhase::ended || news.phase == NodePhase::stopped ||
                       news.phase == NodePhase::leaving;
    if (!ended)
      news.end = NodeEnd{.attempt = news.attempt,
                         .exit_code = exit_code_of(Errc::peer_lost),
                         .trouble = "it did not start the attempt"};
  }
  return all;
}

std::map<int, Standing> RollCall::standings_of_others() const {
  std::map<int, Standing> all;
  for (const auto& [seat, node] : nodes_)
    if (seat != 0) all.emplace(seat, node.standing);
  return all;
}

std::string RollCall::name_of(int seat) const {
  const auto host = hosts_.find(seat);
  return host == hosts_.end() ? fmt::format("node {}", seat)
                              : fmt::format("node {} ({})", seat, host->second);
}

std::string RollCall::host_of(int seat) const {
  const auto host = hosts_.find(seat);
  return host == hosts_.end() ? std::string() : host->second;
}

std::string RollCall::missing() const {
  std::vector<std::string> names;
  for (int seat = 0; seat < seats_; ++seat) {
    const auto node = nodes_.find(seat);
    const bool here = node != nodes_.end();
    if (here && (node->second.ready || !all_here())) continue;
    names.push_back(name_of(seat));
  }
  if (names.size() <= kMostNames) return list_in_words(names);
  const std::size_t more = names.size() - kMostNames;
  names.resize(kMostNames);
  return fmt::format("{} and {} more", join(names, ", "), more);
}

std::string RollCall::waiting_for(TimePoint now) const {
  const std::string count = fmt::format("{}/{} nodes", nodes_.size(), seats_);
  if (all_here()) return fmt::format("{}, waiting for {} to be ready", count, missing());
  std::string line = fmt::format("{}, waiting for {}", count, missing());
  // The time is told where one node alone is missing: those of several differ.
  if (nodes_.size() + 1 == static_cast<std::size_t>(seats_) && gone_.size() == 1) {
    const auto& [seat, gone] = *gone_.begin();
    const auto ago = std::chrono::floor<std::chrono::seconds>(now - gone.heard);
    line += fmt::format(", {} {} ago", gone.left ? "left" : "last heard", describe_duration(ago));
  }
  return line;
}

}  // namespace safelaunch::agree
