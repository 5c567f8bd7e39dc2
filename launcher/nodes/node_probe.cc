// What this node tells the others, what they want of it, and on node 0 which round comes next.
#include "safelaunch/nodes/node_probe.h"

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <nlohmann/json.hpp>
#include <optional>

#include "safelaunch/agree/token.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/launch/guardian.h"
#include "safelaunch/launch/reaper.h"
#include "safelaunch/launch/signals.h"
#include "safelaunch/nodes/party.h"
#include "safelaunch/plan/probe_diagnosis.h"
#include "safelaunch/probe/node_conclusion.h"
#include "safelaunch/probe/node_round.h"
#include "safelaunch/redact/redactor.h"

namespace safelaunch::nodes {
namespace {

using ProbedJson = nlohmann::json;

constexpr std::size_t kLongestTold = 1'000;
constexpr int kMostRanksHere = 1'024;

// What several nodes tell within this time goes to all with one word.
constexpr Duration kWordWithin{5};

constexpr std::array kTextFields{
    std::pair{"host", &ProbedNode::host},           std::pair{"gpus", &ProbedNode::gpus},
    std::pair{"cuda", &ProbedNode::cuda},           std::pair{"nccl", &ProbedNode::nccl},
    std::pair{"interface", &ProbedNode::interface}, std::pair{"address", &ProbedNode::address},
    std::pair{"profiles", &ProbedNode::profiles},   std::pair{"trouble", &ProbedNode::trouble}};

bool ends_the_probe(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

bool stops_it(int signal) {
  return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

// Ranks are counted over the nodes of their group.
probe::Verdict numbered_from(int first, probe::Verdict verdict) {
  if (auto* failed = std::get_if<probe::Failed>(&verdict))
    for (probe::RankFailure& one : failed->failures) one.rank += first;
  if (auto* hung = std::get_if<probe::Hung>(&verdict))
    for (int& rank : hung->ranks) rank += first;
  return verdict;
}

class NodeProbe final : Party::Listener {
 public:
  NodeProbe(const NodeProbePlan& plan, NodeProbeListener& listener)
      : plan_(plan),
        listener_(listener),
        reaper_(io_, [](int, const ExitStatus&) {}),
        guardian_(io_),
        signals_(io_, [this](const launch::ReceivedSignal& one) { take(one); }),
        word_timer_(io_) {
    redactor_.learn(plan.environment);
  }

  Result<NodeProbeEnd> run();

 private:
  void take(const launch::ReceivedSignal& received);

  void party_wants(const agree::AgentAction& action) override;
  void hear(const agree::StartHere& start);
  void hear(const agree::StopHere& stop);
  void hear(const agree::KillHere& kill);
  void hear(const agree::HoldLease& lease);
  void hear(const agree::AttendHere& attend);
  void hear(const agree::AllReady& ready);
  void hear(const agree::NodeTold& told);
  void hear(const agree::AttemptOverEverywhere& over);
  void hear(const agree::TellUser& tell) { listener_.say(tell.text); }
  void hear(const agree::EndHere& end);
  template <class Other>
  void hear(const Other&) {}  // Party performs those, or they are of no use here

  void publish();
  void tell_round();
  [[nodiscard]] probe::NodeRound without_secrets(probe::NodeRound round) const;
  void start_ranks(const std::string& profile);
  void follow(const probe::RoundWord& word);
  void ranks_over(const probe::Outcome& outcome);
  void cannot_start(const Error& error);
  void round_over_here();

  void begin_search(const agree::AllReady& ready);
  void propose();
  void note_round(int seat, const std::string& text);
  void say_word();
  void conclude();
  [[nodiscard]] std::vector<int> ranks_of_nodes() const;

  boost::asio::io_context io_;
  const NodeProbePlan& plan_;
  NodeProbeListener& listener_;
  launch::Reaper reaper_;
  launch::GuardianWatch guardian_;
  launch::SignalIntake signals_;
  redact::Redactor redactor_;
  std::unique_ptr<Party> party_;
  agree::NodeNews news_;  ///< of this node
  std::optional<NodeProbeEnd> end_;
  bool stopping_ = false;

  // The round that runs.
  int attempt_ = 0;
  std::optional<probe::PlaceInRound> place_;  ///< nullopt: this node sits it out
  probe::NodeRound here_;
  std::optional<probe::Session> session_;
  TimePoint lease_until_{};
  bool met_ = false;
  bool others_over_ = false;

  // On node 0.
  ProbedNodes nodes_;
  std::optional<probe::NodeSearch> search_;
  std::optional<probe::RoundDesk> desk_;
  std::optional<NodeProbeEnd> found_;
  int round_ = 0;
  bool word_waits_ = false;
  boost::asio::steady_timer word_timer_;
};

Result<NodeProbeEnd> NodeProbe::run() {
  const Result<agree::Token> token = agree::find_token(plan_.token_file, plan_.environment);
  if (!token) return token.error();
  redactor_.learn_value(token->secret);
  agree::AgentConfig agent = agent_of(plan_.party);
  agent.start_within = plan_.nodes_within;
  agent.apart_after.reset();  // a node that probes by itself tells nothing of the others
  Party::Listener& listener = *this;
  auto party = Party::open(io_, board_of(plan_.party, *token, plan_.environment), agent, listener);
  if (!party) return party.error();
  party_ = *std::move(party);
  news_.workers = plan_.here.trouble.empty() ? plan_.here.ranks : 0;
  news_.facts = redactor_.redact(to_text(plan_.here));
  party_->take(agree::Joins{});
  publish();
  while (!end_) io_.run_one();
  return *end_;
}

void NodeProbe::publish() {
  party_->take(agree::NewsHere{news_});
}

void NodeProbe::take(const launch::ReceivedSignal& received) {
  if (stops_it(received.signal)) return void(launch::suspend_job());
  if (!ends_the_probe(received.signal)) return;
  if (session_ && stopping_)
    session_->kill();
  else if (session_)
    session_->stop("a signal");
  stopping_ = true;
  party_->take(agree::SignalHere{received.signal});
}

// ---- what the agreement wants of this node ------------------------------------------------------

void NodeProbe::party_wants(const agree::AgentAction& action) {
  std::visit([this](const auto& one) { hear(one); }, action);
}

void NodeProbe::hear(const agree::StartHere& start) {
  attempt_ = start.go.attempt;
  met_ = others_over_ = false;
  here_ = probe::NodeRound{attempt_};
  const auto word = probe::round_word_from(start.go.note);
  place_ = word ? probe::place_in(*word, *party_->seat(), start.go.workers) : std::nullopt;
  // Not at once: what is published here must come after what the agreement itself publishes.
  boost::asio::post(io_, [this, profile = start.go.profile] { start_ranks(profile); });
}

void NodeProbe::start_ranks(const std::string& profile) {
  if (!place_ || stopping_) return round_over_here();
  const auto spec = plan_.spec(profile, place_->part);
  if (!spec) return cannot_start(spec.error());
  probe::Meeting meeting;
  meeting.ready = [this](const std::string& id) {
    here_.ready = true;
    here_.id = id;
    tell_round();
  };
  meeting.measured = [this] {
    here_.measured = true;
    tell_round();
  };
  meeting.trouble = [this](probe::Trouble trouble) {
    here_.trouble = trouble;
    tell_round();
  };
  auto session = probe::Session::start(
      io_, reaper_, *spec, [this](const probe::Outcome& outcome) { ranks_over(outcome); },
      std::move(meeting));
  if (!session) return cannot_start(session.error());
  session_ = std::move(*session);
  launch::hold_lease(lease_until_);
}

void NodeProbe::cannot_start(const Error& error) {
  ranks_over({probe::Failed{{{0, probe::Phase::driver, error.message}}}, ""});
}

void NodeProbe::ranks_over(const probe::Outcome& outcome) {
  here_.verdict = numbered_from(place_->part.first, outcome.verdict);
  here_.cut_short = outcome.cut_short;
  if (probe::stopped_at(outcome.verdict)) here_.cause = plan::cause_of(outcome);
  // Ranks that are aborted after a hang lose each other.
  const bool hung = std::holds_alternative<probe::Hung>(outcome.verdict);
  if (hung && here_.cause == cause::kPeerLost) here_.cause.clear();
  tell_round();
  round_over_here();
}

void NodeProbe::round_over_here() {
  session_.reset();
  launch::release_lease();
  party_->take(agree::AttemptOverHere{agree::NodeEnd{.attempt = attempt_}, true});
}

void NodeProbe::tell_round() {
  news_.ranks = to_text(without_secrets(here_));
  publish();
  if (party_->leads()) note_round(*party_->seat(), news_.ranks);
}

// A communicator's id looks like a secret, and has to come through.
probe::NodeRound NodeProbe::without_secrets(probe::NodeRound round) const {
  if (!round.verdict) return round;
  if (auto* failed = std::get_if<probe::Failed>(&*round.verdict))
    for (probe::RankFailure& one : failed->failures) one.words = redactor_.redact(one.words);
  if (auto* untold = std::get_if<probe::Untold>(&*round.verdict))
    untold->why = redactor_.redact(untold->why);
  return round;
}

void NodeProbe::hear(const agree::AttendHere& attend) {
  if (const auto word = probe::round_word_from(attend.note)) follow(*word);
}

// Of what grows while a round runs.
void NodeProbe::follow(const probe::RoundWord& word) {
  if (!session_ || !place_ || word.round != attempt_) return;
  const auto id = word.ids.find(place_->group);
  if (id != word.ids.end() && !std::exchange(met_, true)) session_->meet(id->second);
  const bool over = std::ranges::find(word.over, place_->group) != word.over.end();
  if (over && session_ && !std::exchange(others_over_, true)) session_->others_are_over();
}

void NodeProbe::hear(const agree::StopHere& stop) {
  const bool again = std::exchange(stopping_, true);
  if (!session_) return;
  if (again) return session_->kill();
  session_->stop(stop.why);
}

void NodeProbe::hear(const agree::KillHere& kill) {
  listener_.say(kill.why);
  stopping_ = true;
  if (session_) session_->kill();
}

void NodeProbe::hear(const agree::HoldLease& lease) {
  lease_until_ = lease.until;
  if (session_) launch::hold_lease(lease.until);
}

void NodeProbe::hear(const agree::EndHere& end) {
  const bool as_found = found_ && found_->why == end.why;
  if (!end_) end_ = as_found ? *found_ : NodeProbeEnd{end.exit_code, end.why};
}

// ---- node 0: which round comes next -------------------------------------------------------------

void NodeProbe::hear(const agree::AllReady& ready) {
  if (!search_) begin_search(ready);
}

void NodeProbe::begin_search(const agree::AllReady& ready) {
  nodes_[0] = plan_.here;
  for (const auto& [seat, standing] : ready.standings) {
    const Result<agree::NodeNews> news = agree::news_from(standing.text);
    nodes_[seat] = probed_node_from(news ? news->facts : "");
    nodes_[seat].host = standing.host;
    if (!news || news->workers != nodes_[seat].ranks) nodes_[seat].ranks = news ? news->workers : 0;
  }
  if (const std::string why = other_profiles(nodes_); !why.empty())
    return party_->take(agree::EndWanted{exit_code_of(Errc::usage), why});
  probe::NodeGroup able;
  probe::IllNodes ill;
  for (const auto& [seat, node] : nodes_) {
    if (node.trouble.empty() && node.ranks > 0)
      able.push_back(seat);
    else
      ill[seat] = node.trouble.empty() ? "it has told of no GPU" : node.trouble;
  }
  listener_.nodes_met(nodes_);
  search_.emplace(std::move(able), std::move(ill), plan_.profiles);
  propose();
}

std::vector<int> NodeProbe::ranks_of_nodes() const {
  std::vector<int> ranks;
  for (const auto& [seat, node] : nodes_) ranks.push_back(node.ranks);
  return ranks;
}

void NodeProbe::propose() {
  const probe::SearchRound* next = search_->next();
  if (next == nullptr) return conclude();
  desk_.emplace(++round_, next->groups, ranks_of_nodes());
  agree::Decision go;
  go.order = agree::Order::go;
  go.attempt = round_;
  go.profile = plan_.profiles[next->profile].name;
  go.workers = ranks_of_nodes();
  go.note = to_text(desk_->word());
  party_->take(agree::AttemptWanted{go});
}

void NodeProbe::hear(const agree::NodeTold& told) {
  note_round(told.seat, told.news.ranks);
}

void NodeProbe::note_round(int seat, const std::string& text) {
  if (!desk_ || text.empty()) return;
  const auto round = probe::node_round_from(text);
  if (!round || !desk_->take(seat, *round) || std::exchange(word_waits_, true)) return;
  word_timer_.expires_after(kWordWithin);
  word_timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) say_word();
  });
}

void NodeProbe::say_word() {
  word_waits_ = false;
  if (!desk_) return;
  party_->take(agree::AttentionWanted{false, 0, to_text(desk_->word())});
  follow(desk_->word());
}

void NodeProbe::hear(const agree::AttemptOverEverywhere& over) {
  if (!desk_ || over.attempt != round_) return;
  std::vector<std::string> lost;
  for (const int seat : over.lost)
    lost.push_back(fmt::format("node {} ({})", seat, nodes_[seat].host));
  if (!lost.empty()) {
    party_->take(
        agree::EndWanted{exit_code_of(Errc::peer_lost),
                         fmt::format("{} {} lost while ranks were probed", list_in_words(lost),
                                     lost.size() == 1 ? "was" : "were")});
    return;
  }
  for (const auto& [seat, news] : over.news) note_round(seat, news.ranks);
  const std::vector<probe::GroupResult> results = desk_->results();
  desk_.reset();
  if (stopping_) return;  // a signal ends it
  listener_.round_over(*search_->next(), results);
  search_->take(results);
  propose();
}

void NodeProbe::conclude() {
  std::map<int, std::string> hosts;
  for (const auto& [seat, node] : nodes_) hosts[seat] = node.host;
  const probe::NodeConclusion conclusion =
      probe::conclude(search_->findings(), search_->nodes(), hosts, false);
  found_ = NodeProbeEnd{
      conclusion.exit_code, join(conclusion.sentences, "; "), true, nodes_, search_->nodes(),
      search_->findings()};
  party_->take(agree::EndWanted{found_->exit_code, found_->why});
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
  const ProbedJson json = ProbedJson::parse(text, nullptr, false);
  ProbedNode node;
  node.ranks = number_of(json, "ranks", 0, kMostRanksHere).value_or(0);
  for (const auto& [name, field] : kTextFields) node.*field = text_of(json, name, kLongestTold);
  return node;
}

Result<NodeProbeEnd> probe_over_nodes(const NodeProbePlan& plan, NodeProbeListener& listener) {
  return NodeProbe(plan, listener).run();
}

}  // namespace safelaunch::nodes
