#include "nodes.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/launch/guardian.h"
#include "safelaunch/nodes/node_evidence.h"
#include "safelaunch/nodes/node_facts.h"
#include "safelaunch/nodes/own_doors.h"
#include "safelaunch/ranks/node_answers.h"

// A lease is held from the moment in which an attempt is agreed on, before any rank runs, until the
// attempt is over here. News of another node is taken only where it is of this very attempt, or
// answers the last question, since it may come late. The first part tells the others; the second
// does what they, or the agreement, want of this node.
namespace safelaunch::run {
namespace {

// The ranks of one node have this long to answer the leader's question.
constexpr Duration kRanksAnswerWithin{1'000};

// The rest of a standing has room beside it.
constexpr std::size_t kLongestAnswers = agree::kLongestText / 2;

// A visit takes a second at most; the rest is the board's way.
constexpr Duration kWaysWithin{2'000};

}  // namespace

Result<std::unique_ptr<Nodes>> Nodes::open(boost::asio::io_context& io, const plan::RunPlan& plan,
                                           const agree::Token& token, Listener& listener) {
  std::unique_ptr<Nodes> nodes(new Nodes(io, plan, listener));
  Result<std::unique_ptr<nodes::Party>> party =
      nodes::Party::open(io, nodes::board_of(*plan.party, token, plan.environment),
                         nodes::agent_of(*plan.party), *nodes);
  if (!party) return party.error();
  nodes->party_ = *std::move(party);
  nodes->news_.workers = plan.spawn ? plan.spawn->workers : 0;
  nodes->news_.facts = listener.redact(nodes::to_text(nodes::facts_of(plan)));
  return nodes;
}

void Nodes::take(const TellReady& ready) {
  news_.findings = ready.findings;
  for (std::string& line : news_.findings) line = listener_.redact(line);
  news_.blocked = ready.blocked;
  if (!ready.blocked) open_doors();
  publish();
}

// From now on the others may come, until the first attempt begins.
void Nodes::open_doors() {
  nodes::NodeDoors doors = nodes::own_doors(plan_);
  doors_ = std::make_unique<nodes::DoorKeeper>(io_, doors.name);
  doors.doors = doors_->open(doors.doors);
  news_.doors = nodes::to_text(doors);
}

// The doors close when an attempt begins, since the ranks may need their ports.
void Nodes::close_doors() {
  visits_.reset();
  doors_.reset();
  news_.doors.clear();
  news_.ways.clear();
}

void Nodes::propose(const ProposeAttempt& attempt, std::optional<int> port) {
  agree::Decision go;
  go.order = agree::Order::go;
  go.attempt = attempt.number;
  go.profile = attempt.profile.name;
  go.checkpoint = attempt.checkpoint;
  // The launchers count their ranks themselves.
  if (plan_.spawn)
    go.workers = workers_of_nodes(plan_.party->placement.nodes, news_, others_, attempt.profile);
  go.master_addr = plan_.party->placement.head;
  go.master_port = port.value_or(0);
  party_->take(agree::AttemptWanted{go});
}

void Nodes::release_lease() {
  holds_lease_ = false;
  launch::release_lease();
}

void Nodes::tell_not_started(int attempt, const Error& error) {
  release_lease();
  agree::NodeEnd end;
  end.attempt = attempt;
  end.exit_code = exit_code_of(error.code);
  end.trouble = listener_.redact(error.message);
  party_->take(agree::AttemptOverHere{end, true});
}

void Nodes::take(const ranks::TellPicture& picture) {
  news_.ranks = listener_.redact(to_text(ranks::NodePicture{attempt_, picture.ranks}));
  publish();
}

// The leader alone asks for the activity of all ranks, and only while some wait: pictures cost
// every node a look at its processes.
void Nodes::take(const ranks::RanksWait& news) {
  if (!leads() || news.wait == watching_) return;
  watching_ = news.wait;
  attend();
}

void Nodes::take(const ranks::AskNodes&) {
  ++question_;
  attend();
}

void Nodes::take(const ranks::AskCounts& ask) {
  count_ = ask.question;
  attend();
}

void Nodes::take(const ranks::TellCounts& told) {
  news_.counts = to_text(told.counts);
  publish();
}

void Nodes::take(const ranks::RanksAnswered& news) {
  news_.answered = question_;
  news_.answers = listener_.redact(to_text(news.answers, kLongestAnswers));
  publish();
}

// Only the leader's stop is a wish for all: a member's failure reaches the leader as its end.
void Nodes::attempt_stops(const std::string& why) {
  if (leads()) party_->take(agree::StopWanted{fmt::format("{}: {}", host::read_hostname(), why)});
}

void Nodes::attempt_over(int attempt, int exit_code, const AttemptRecord& record,
                         const diagnose::Evidence& evidence) {
  // The last picture goes before the end, because the leader's diagnosis needs the ranks that
  // failed here.
  news_.ranks = listener_.redact(to_text(ranks::NodePicture{attempt, record.picture}));
  publish();
  watching_ = false;
  release_lease();
  agree::NodeEnd end;
  end.attempt = attempt;
  end.exit_code = exit_code;
  if (!went_well(record)) end.diagnosis = listener_.redact(nodes::to_text(evidence));
  party_->take(agree::AttemptOverHere{end, !record.gave_way});
}

// The actions of the agreement.

void Nodes::party_wants(const agree::AgentAction& action) {
  std::visit([this](const auto& one) { hear(one); }, action);
}

void Nodes::hear(const agree::StartHere& start) {
  close_doors();
  attempt_ = start.go.attempt;
  count_ = 0;
  news_.counts.clear();
  // Before any rank runs: this process may be stopped in its next moment.
  holds_lease_ = true;
  launch::hold_lease(lease_until_);
  listener_.take(AttemptAgreed{start.go});
}

void Nodes::hear(const agree::StopHere& stop) {
  Attempt* attempt = listener_.attempt();
  if (attempt == nullptr) return;
  attempt->note_why("safelaunch stopped it together with the attempts of the other nodes: " +
                    stop.why);
  if (stop.signal == 0) return attempt->give_way();
  // The run is told first, so that the same signal from a scheduler here does not count as a second
  // one.
  listener_.take(SignalPassedOn{});
  attempt->signal({stop.signal, 0, launch::SignalOrigin::user});
}

void Nodes::hear(const agree::KillHere& kill) {
  listener_.say(kill.why);
  Attempt* attempt = listener_.attempt();
  if (attempt == nullptr) return;
  attempt->note_why("safelaunch ended it: " + kill.why);
  attempt->kill();
}

void Nodes::hear(const agree::HoldLease& lease) {
  lease_until_ = lease.until;
  if (holds_lease_) launch::hold_lease(lease.until);
}

void Nodes::hear(const agree::AttendHere& attend) {
  Attempt* attempt = listener_.attempt();
  if (attempt == nullptr) return;
  attempt->watch().take(ranks::LeaderWatches{attend.watch});
  attempt->watch().count_for_leader(attend.count);
  if (attend.question == 0 || attend.question == question_) return;
  question_ = attend.question;
  attempt->ask_for_leader(kRanksAnswerWithin);
}

void Nodes::hear(const agree::AllReady& ready) {
  for (const auto& [seat, standing] : ready.standings) {
    Result<agree::NodeNews> news = agree::news_from(standing.text);
    if (!news) continue;
    OtherNode& node = others_[seat];
    node.name = {seat, standing.host};
    node.news = *std::move(news);
  }
  listener_.take(LeadsNodes{});
  if (!begin_mesh()) tell_compared();
}

// The ways between the nodes. False: there is nothing to try, or no word has room for all doors.
bool Nodes::begin_mesh() {
  nodes::AllDoors all;
  for (const auto& [seat, node] : mesh_of(here(), others_)) all[seat] = node.doors;
  // A node without doors has told nothing of how it can be reached, so nothing could be concluded.
  const auto has_doors = [](const auto& one) { return !one.second.doors.empty(); };
  if (!std::ranges::all_of(all, has_doors)) return false;
  agree::ReachWanted reach{nodes::to_text(all)};
  if (agree::to_text(agree::Decision{.doors = reach.doors}).size() > agree::kLongestText) {
    log_debug(fmt::format("the ways between {} nodes are not tried", all.size()));
    return false;
  }
  meshing_ = true;
  if (doors_) doors_->let_in(nodes::kMasterDoor);
  party_->take(reach);
  waits_for_ways_.set_after(kWaysWithin, [this] { end_mesh(); });
  return true;
}

void Nodes::hear(const agree::ReachOthers& reach) {
  const auto seat = party_->seat();
  if (!doors_ || !seat) return;
  visits_ = std::make_unique<nodes::DoorVisits>(
      io_, nodes::all_doors_from(reach.doors),
      nodes::seats_to_reach(*seat, plan_.party->placement.nodes),
      [this](const std::vector<nodes::Way>& ways) {
        news_.ways = to_text(ways);
        publish();
        note_ways();
      });
}

void Nodes::note_ways() {
  const auto told = [](const auto& node) { return !node.second.news.ways.empty(); };
  if (meshing_ && !news_.ways.empty() && std::ranges::all_of(others_, told)) end_mesh();
}

void Nodes::end_mesh() {
  if (!std::exchange(meshing_, false)) return;
  waits_for_ways_.cancel();
  listener_.ways_told(nodes::record_of(mesh_of(here(), others_)));
  tell_compared();
}

// The next step looks whether the master's port is free, so our own door there closes first.
void Nodes::tell_compared() {
  if (doors_) doors_->close(nodes::kMasterDoor);
  listener_.take(compare_nodes(here(), others_));
}

LeadersNode Nodes::here() const {
  return {host::read_hostname(), news_};
}

void Nodes::hear(const agree::NodeTold& told) {
  OtherNode& node = others_[told.seat];
  // Each piece of news repeats the last answer, so only a new number is an answer.
  const int answered = node.news.answered;
  node.name = {told.seat, told.host};
  node.news = told.news;
  node.heard = true;
  note_ways();
  take_ranks(node);
  take_answers(node, answered);
  take_counts(node);
}

void Nodes::take_ranks(const OtherNode& node) {
  Attempt* attempt = listener_.attempt();
  if (attempt == nullptr || node.news.ranks.empty()) return;
  const Result<ranks::NodePicture> picture = ranks::picture_from(node.news.ranks);
  if (!picture) return log_warning(fmt::format("{}: {}", node.name.host, picture.error().message));
  if (picture->attempt == attempt_)
    attempt->watch().take(ranks::NodeSpoke{node.name, picture->ranks});
}

void Nodes::take_answers(const OtherNode& node, int before) {
  Attempt* attempt = listener_.attempt();
  if (attempt == nullptr || node.news.answered == before || node.news.answered != question_) return;
  const Result<ranks::RankAnswers> answers = ranks::answers_from(node.news.answers);
  if (answers) attempt->watch().node_answered(node.name, *answers);
}

// Each piece of news repeats the last counters; the watch knows whether they answer its question.
void Nodes::take_counts(const OtherNode& node) {
  Attempt* attempt = listener_.attempt();
  if (attempt == nullptr || node.news.counts.empty() || node.news.attempt != attempt_) return;
  const Result<ranks::NodeCounts> counts = ranks::counts_from(node.news.counts);
  if (!counts) return log_warning(fmt::format("{}: {}", node.name.host, counts.error().message));
  attempt->watch().node_counted(node.name.seat, *counts);
}

void Nodes::hear(const agree::NodeSilent& silent) {
  if (const auto node = others_.find(silent.seat); node != others_.end())
    node->second.heard = !silent.silent;
  if (Attempt* attempt = listener_.attempt())
    attempt->watch().take(ranks::NodeHeard{silent.seat, !silent.silent});
}

void Nodes::hear(const agree::AttemptOverEverywhere& over) {
  std::vector<OtherNode> others;
  for (const auto& [seat, news] : over.news) {
    OtherNode& node = others_[seat];
    node.news = news;
    others.push_back(node);
  }
  listener_.over_everywhere(others, names_of(over.lost, here(), others_));
}

void Nodes::hear(const agree::GoApart& apart) {
  close_doors();
  listener_.take(AgreedOnNone{apart.why});
}

void Nodes::hear(const agree::EndHere& end) {
  close_doors();
  listener_.take(EndAgreed{end.exit_code, end.why});
}

}  // namespace safelaunch::run
