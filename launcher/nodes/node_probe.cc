#include "safelaunch/nodes/node_probe.h"
#include "safelaunch/base/alarm.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <csignal>

#include "probe_roster.h"
#include "safelaunch/agree/token.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/launch/guardian.h"
#include "safelaunch/launch/reaper.h"
#include "safelaunch/launch/signals.h"
#include "safelaunch/nodes/party.h"
#include "safelaunch/probe/node_conclusion.h"
#include "safelaunch/probe/node_round.h"
#include "safelaunch/redact/redactor.h"

// A probe over several nodes is a run of attempts, one a round: the agents agree on each as on an
// attempt of a job, the word of the leader tells who meets whom, and node 0's search picks the next
// round from what the last one came to. First what this node tells the others, then what they want
// of it, then on node 0 which round comes next.
namespace safelaunch::nodes {
namespace {

// The leader gathers the reports of this interval into one word for all nodes.
constexpr Duration kWordWithin{5};

bool ends_the_probe(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

bool stops_it(int signal) {
  return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
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

  boost::asio::io_context io_;
  const NodeProbePlan& plan_;
  NodeProbeListener& listener_;
  launch::Reaper reaper_;
  launch::GuardianWatch guardian_;
  launch::SignalIntake signals_;
  redact::Redactor redactor_;
  std::unique_ptr<Party> party_;
  agree::NodeNews news_;  ///< the news of this node
  std::optional<NodeProbeEnd> end_;
  bool stopping_ = false;
  int signal_ = 0;  ///< the one that ends the probe, here or at another node

  // The round that runs.
  RoundHere here_;
  std::optional<probe::Session> session_;
  TimePoint lease_until_{};

  // On node 0.
  ProbedNodes nodes_;
  std::optional<probe::NodeSearch> search_;
  std::optional<probe::RoundDesk> desk_;
  std::optional<NodeProbeEnd> found_;
  int round_ = 0;
  bool word_waits_ = false;
  Alarm word_timer_;
};

Result<NodeProbeEnd> NodeProbe::run() {
  const Result<agree::Token> token = agree::find_token(plan_.token_file, plan_.environment);
  if (!token) return token.error();
  redactor_.learn_value(token->secret);
  agree::AgentConfig agent = agent_of(plan_.party);
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
  if (received.ignored) return;
  if (stops_it(received.signal)) return void(launch::suspend_job(received.signal));
  if (!ends_the_probe(received.signal)) return;
  // The first signal lets the ranks take their communicator down; the second one kills them.
  if (session_ && stopping_)
    session_->kill();
  else if (session_)
    session_->stop("a signal");
  stopping_ = true;
  signal_ = received.signal;
  party_->take(agree::SignalHere{received.signal});
}

// ---- what the agreement wants of this node ------------------------------------------------------

void NodeProbe::party_wants(const agree::AgentAction& action) {
  std::visit([this](const auto& one) { hear(one); }, action);
}

void NodeProbe::hear(const agree::StartHere& start) {
  here_ = RoundHere(start.go.attempt, start.go.note, *party_->seat(), start.go.workers);
  // Not at once: our news must come after the news that the agreement itself publishes.
  boost::asio::post(io_, [this, profile = start.go.profile] { start_ranks(profile); });
}

void NodeProbe::start_ranks(const std::string& profile) {
  if (!here_.place() || stopping_) return round_over_here();
  const auto spec = plan_.spec(profile, here_.place()->part);
  if (!spec) return cannot_start(spec.error());
  probe::Meeting meeting;
  meeting.ready = [this](const std::string& id) {
    here_.ready(id);
    tell_round();
  };
  meeting.measured = [this] {
    here_.measured();
    tell_round();
  };
  meeting.trouble = [this](probe::Trouble trouble) {
    here_.trouble(trouble);
    tell_round();
  };
  auto session = probe::Session::start(
      io_, reaper_, *spec, [this](const probe::Outcome& outcome) { ranks_over(outcome); },
      std::move(meeting));
  if (!session) return cannot_start(session.error());
  session_ = std::move(*session);
  launch::hold_lease(lease_until_);
}

// The round still needs a result of this node, since the others wait for one.
void NodeProbe::cannot_start(const Error& error) {
  ranks_over({probe::Failed{{{0, probe::Phase::driver, error.message}}}, ""});
}

void NodeProbe::ranks_over(const probe::Outcome& outcome) {
  here_.over(outcome);
  tell_round();
  round_over_here();
}

void NodeProbe::round_over_here() {
  session_.reset();
  launch::release_lease();
  // A round that a signal has ended has found nothing out.
  const int exit_code = signal_ == 0 ? 0 : shell_code(Signaled{signal_});
  party_->take(agree::AttemptOverHere{
      agree::NodeEnd{.attempt = here_.round(), .exit_code = exit_code}, true});
}

void NodeProbe::tell_round() {
  news_.ranks = to_text(without_secrets(here_.told()));
  publish();
  // The board does not send the leader its own news.
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

// Follows the parts of the word that grow while a round runs.
void NodeProbe::follow(const probe::RoundWord& word) {
  if (!session_) return;
  if (const auto id = here_.id_to_meet(word)) session_->meet(*id);
  if (session_ && here_.others_are_over(word)) session_->others_are_over();
}

void NodeProbe::hear(const agree::StopHere& stop) {
  const bool again = std::exchange(stopping_, true);
  if (signal_ == 0) signal_ = stop.signal;
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

// Node 0 knows more than the words that all nodes end with: the findings of its search.
void NodeProbe::hear(const agree::EndHere& end) {
  const bool as_found = found_ && found_->why == end.why;
  if (!end_) end_ = as_found ? *found_ : NodeProbeEnd{end.exit_code, end.why};
}

// ---- node 0: which round comes next -------------------------------------------------------------

void NodeProbe::hear(const agree::AllReady& ready) {
  if (!search_) begin_search(ready);
}

void NodeProbe::begin_search(const agree::AllReady& ready) {
  Roster roster = roster_of(plan_.here, ready.standings);
  nodes_ = std::move(roster.nodes);
  if (!roster.differ.empty())
    return party_->take(agree::EndWanted{exit_code_of(Errc::usage), roster.differ});
  listener_.nodes_met(nodes_);
  search_.emplace(std::move(roster.able), std::move(roster.ill), plan_.profiles);
  propose();
}

void NodeProbe::propose() {
  const probe::SearchRound* next = search_->next();
  if (next == nullptr) return conclude();
  desk_.emplace(++round_, next->groups, ranks_of(nodes_));
  agree::Decision go;
  go.order = agree::Order::go;
  go.attempt = round_;
  go.profile = plan_.profiles[next->profile].name;
  go.workers = ranks_of(nodes_);
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
  word_timer_.set_after(kWordWithin, [this] { say_word(); });
}

void NodeProbe::say_word() {
  word_waits_ = false;
  if (!desk_) return;
  party_->take(agree::AttentionWanted{false, 0, to_text(desk_->word())});
  follow(desk_->word());
}

void NodeProbe::hear(const agree::AttemptOverEverywhere& over) {
  if (!desk_ || over.attempt != round_) return;
  if (!over.lost.empty())
    return party_->take(
        agree::EndWanted{exit_code_of(Errc::peer_lost), lost_in_words(over.lost, nodes_)});
  // The last news of a node may have come with its end only.
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

Result<NodeProbeEnd> probe_over_nodes(const NodeProbePlan& plan, NodeProbeListener& listener) {
  return NodeProbe(plan, listener).run();
}

}  // namespace safelaunch::nodes
