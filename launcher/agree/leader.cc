#include "leader.h"

#include <algorithm>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/process.h"
#include "safelaunch/base/strings.h"

// The leader decides by its last word. After `gather` it waits until every node has told that it
// is ready for that very word; after `go` it stops all as soon as one node fails or is gone;
// after `stop` it waits until nothing runs anywhere. An end that somebody wants goes before all
// of these. It says nothing while the board still lacks the word before.
namespace safelaunch::agree {
namespace {

// A node that is asked for again and again, or a stranger, shall not fill the screen.
constexpr std::size_t kMostTurnedAway = 8;

}  // namespace

// The board sends every word back to the leader too, and so shows that it has taken the word.
void Leader::heard(const Word& word) {
  if (!decision_) number_ = std::max(number_, word.number);  // an earlier leader's
  if (word.generation == generation_ && word.number == number_) taken_ = true;
}

void Leader::note_own(const NodeNews& news, TimePoint now) {
  roll_.note({0, config_.claim.incarnation, config_.claim.host, {}}, news, now);
}

// News that cannot be read come from an agent of another version. No agreement can be had with it,
// so the run ends on all nodes.
void Leader::note(const Standing& standing, TimePoint now) {
  if (standing.seat <= 0 || standing.seat >= config_.claim.seats) return;
  std::optional<NodeNews> news;
  if (!standing.text.empty()) {
    Result<NodeNews> read = news_from(standing.text);
    if (!read)
      want_end(exit_code_of(read.error().code),
               fmt::format("node {} ({}): {}", standing.seat, standing.host, read.error().message),
               0, now);
    else
      news = *std::move(read);
  }
  roll_.note(standing, news, now);
  if (silent_.erase(standing.seat) > 0)
    actions_.push_back(NodeSilent{standing.seat, standing.host, false});
  if (!news) return;
  actions_.push_back(NodeTold{standing.seat, standing.host, *news});
  if (news->signal != 0)
    want_end(
        128 + news->signal,
        fmt::format("signal {} at {}", signal_name(news->signal), roll_.name_of(standing.seat)),
        news->signal, now);
  if (news->hurry) hurry();
}

void Leader::vacated(int seat, TimePoint now) {
  if (seat == 0 || !roll_.is_here(seat)) return;
  roll_.vacate(seat, now);
  silent_.insert(seat);
  actions_.push_back(NodeSilent{seat, roll_.host_of(seat), true});
}

void Leader::turned_away(const std::string& who_and_why) {
  if (turned_away_.size() >= kMostTurnedAway || std::ranges::count(turned_away_, who_and_why) > 0)
    return;
  turned_away_.push_back(who_and_why);
  actions_.push_back(TellUser{who_and_why});
}

// An attempt that was wanted twice runs once.
void Leader::want(const Decision& go) {
  if (!decision_ || go.attempt > decision_->attempt) wanted_ = go;
}

// Only an attempt that runs can be stopped, and the first reason is the one that all nodes are
// told.
void Leader::want_stop(const std::string& why) {
  if (decision_ && decision_->order == Order::go && !stop_) stop_ = why;
}

void Leader::want_end(int exit_code, const std::string& why, int signal, TimePoint now) {
  if (!end_) end_ = End{exit_code, why, signal, now};
}

void Leader::hurry() {
  if (end_ && end_->signal != 0) end_->hurry = true;
}

void Leader::attend(const AttentionWanted& wanted) {
  attention_ = wanted;
}

void Leader::want_reach(const std::string& doors) {
  if (!started_) doors_ = doors;
}

std::vector<AgentAction> Leader::step(TimePoint now) {
  if (may_speak_ && (!decision_ || taken_)) decide(now);
  return std::exchange(actions_, {});
}

void Leader::decide(TimePoint now) {
  if (end_) return lead_end();
  if (!decision_) return say({});
  switch (decision_->order) {
    case Order::gather: return gather(now);
    case Order::go: return lead_attempt();
    case Order::stop:
      if (roll_.all_over()) conclude();
      return;
    case Order::end:
    case Order::apart: return;
  }
}

void Leader::gather(TimePoint now) {
  if (!roll_.all_ready()) return wait(now);
  incomplete_since_.reset();
  pace_.end();
  if (!std::exchange(announced_, true)) actions_.push_back(AllReady{roll_.standings_of_others()});
  if (doors_) return send_to_doors();
  if (wanted_) start();
}

// It calls all of them anew, so none starts before it has heard it.
void Leader::send_to_doors() {
  Decision next;
  next.doors = *std::exchange(doors_, std::nullopt);
  say(std::move(next));
}

void Leader::wait(TimePoint now) {
  if (!incomplete_since_) incomplete_since_ = now;
  pace_.begin(now);
  if (now >= *incomplete_since_ + config_.start_within) {
    const bool came = roll_.all_here();
    want_end(exit_code_of(Errc::peer_lost),
             fmt::format("{} {} within {}{}", roll_.missing(),
                         came ? "did not become ready" : "did not come",
                         describe_duration(config_.start_within),
                         turned_away_.empty() ? "" : "; " + join(turned_away_, "; ")),
             0, now);
    return say_end();
  }
  if (const auto apart = apart_at(); apart && now >= *apart) {
    Decision decision;
    decision.order = Order::apart;
    decision.why = fmt::format("{} did not come within {}", roll_.missing(),
                               describe_duration(*config_.apart_after));
    return say(std::move(decision));
  }
  if (pace_.is_time(now)) actions_.push_back(TellUser{roll_.waiting_for(now)});
}

void Leader::start() {
  Decision go = *std::exchange(wanted_, std::nullopt);
  go.order = Order::go;
  go.gathered = number_;
  doors_.reset();
  // Questions to the ranks of an earlier attempt must not be answered by those of this one.
  go.watch = false;
  go.question = 0;
  go.count = 0;
  attention_ = {false, 0, go.note};
  stop_.reset();
  started_ = true;
  say(std::move(go));
  roll_.send_off(number_);
}

void Leader::lead_attempt() {
  if (roll_.all_over()) return conclude();
  Decision next = *decision_;
  if (stop_ || !roll_.failure().empty()) {
    next.order = Order::stop;
    next.why = stop_ ? *stop_ : roll_.failure();
    return say(std::move(next));
  }
  next.watch = attention_.watch;
  next.question = attention_.question;
  next.note = attention_.note;
  next.count = attention_.count;
  if (next != *decision_) say(std::move(next));
}

// The next word is `gather` again, so the nodes get ready for another attempt while the leader's
// run still decides whether there is one.
void Leader::conclude() {
  actions_.push_back(
      AttemptOverEverywhere{decision_->attempt, roll_.news_of_others(), roll_.lost()});
  Decision next;
  next.attempt = decision_->attempt;
  announced_ = false;
  say(std::move(next));
}

// Ranks that save at a signal may end with a status of their own, so it is known only once all are
// over. Whoever asks twice does not wait for it.
void Leader::lead_end() {
  const bool awaited = decision_ && end_->signal != 0 && !end_->hurry;
  if (awaited && decision_->order == Order::go && !roll_.all_over()) {
    Decision next = *decision_;
    next.order = Order::stop;
    next.why = end_->why;
    next.signal = end_->signal;
    return say(std::move(next));
  }
  if (awaited && decision_->order == Order::stop && decision_->signal != 0) {
    if (!roll_.all_over()) return;
    end_->exit_code = roll_.status_after(end_->exit_code);
    if (end_->exit_code == 0) end_->why.clear();
  }
  say_end();
}

// The end is said a second time only where somebody has asked twice, because the agents then wait
// for nothing any more.
void Leader::say_end() {
  const bool said =
      decision_ && (decision_->order == Order::end || decision_->order == Order::apart);
  if (said && decision_->hurry == end_->hurry) return;
  Decision end;
  end.order = Order::end;
  end.attempt = decision_ ? decision_->attempt : 0;
  end.exit_code = end_->exit_code;
  end.signal = end_->signal;
  end.hurry = end_->hurry;
  end.why = end_->why;
  say(std::move(end));
}

void Leader::say(Decision decision) {
  ++number_;
  taken_ = false;
  if (decision.order == Order::gather) roll_.call(number_);
  actions_.push_back(Say{{generation_, number_, to_text(decision)}});
  decision_ = std::move(decision);
}

// Only before the first attempt, since nodes that have run together are known to have agents.
std::optional<TimePoint> Leader::apart_at() const {
  if (!config_.apart_after || started_ || roll_.all_here() || !incomplete_since_)
    return std::nullopt;
  return *incomplete_since_ + *config_.apart_after;
}

std::optional<TimePoint> Leader::deadline() const {
  if (!taken_ || end_ || decision_->order != Order::gather || !incomplete_since_)
    return std::nullopt;
  TimePoint next = *incomplete_since_ + config_.start_within;
  if (pace_.next()) next = std::min(next, *pace_.next());
  if (const auto apart = apart_at()) next = std::min(next, *apart);
  return next;
}

}  // namespace safelaunch::agree
