#include "safelaunch/launch/stop.h"

#include <algorithm>

#include "safelaunch/launch/descendants.h"

/// Each event is handled in the phase that the table of stop.h draws. A stop only ever gets harder:
/// awaiting, asking, sweeping, killing. One deadline serves the phase at hand; when it passes, the
/// next harder phase begins.
namespace safelaunch::launch {
namespace {

/// The pauses between walks that kill. A walk through a big tree takes milliseconds, and the killed
/// processes need some to end.
constexpr Duration kFirstPause{10};
constexpr Duration kLongestPause{100};

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>  // clang before 17 does not deduce an aggregate's by itself
Overloaded(Handlers...)->Overloaded<Handlers...>;

}  // namespace

bool is_insisting(int signal) {
  return signal == SIGINT || signal == SIGTERM;
}

std::vector<StopAction> StopSequence::on(const StopEvent& event, TimePoint now) {
  if (phase_ == Phase::done) return {};
  return std::visit(
      Overloaded{[&](const StopWanted& stop) { return wanted(stop, now); },
                 [&](MainEnded ended) { return main_ended(ended, now); },
                 [&](RanksGone) { return ranks_gone(now); },
                 [&](ReadersAtWork) { return readers_at_work(now); },
                 [&](TreeEmpty) { return done(); }, [&](TimePassed) { return time_passed(now); }},
      event);
}

std::optional<TimePoint> StopSequence::deadline() const {
  if (phase_ == Phase::idle || phase_ == Phase::done || deadline_ == TimePoint::max())
    return std::nullopt;
  return deadline_;
}

std::vector<StopAction> StopSequence::wanted(const StopWanted& stop, TimePoint now) {
  if (phase_ == Phase::killing && readers_ == Readers::killed) return {};
  if (phase_ == Phase::killing && stop.mode != StopMode::now && !is_insisting(stop.signal))
    return {};
  switch (stop.mode) {
    case StopMode::polite: return ask(stop, now);
    case StopMode::sweep:
      if (phase_ == Phase::sweeping) return {};
      // A sweep that follows a polite request gives no more time than the request did.
      return sweep(std::min(phase_ == Phase::asking ? deadline_ : TimePoint::max(),
                            now + stop.grace.value_or(kSweepGrace)));
    case StopMode::now: return kill(now, Readers::killed);
    case StopMode::await:
      phase_ = Phase::awaiting;
      deadline_ = now + stop.grace.value_or(kOrphansSave);
      return {};
  }
  return {};
}

std::vector<StopAction> StopSequence::ask(const StopWanted& stop, TimePoint now) {
  const bool insisting = is_insisting(stop.signal);
  if (insisting && user_insisted_) return kill(now, Readers::killed);
  user_insisted_ = user_insisted_ || insisting;
  if (phase_ == Phase::sweeping || phase_ == Phase::killing) return {};
  if (phase_ == Phase::awaiting) return sweep(now + kSweepGrace);
  // A terminal that closes now does not keep the job from saving; Ctrl-\ is a person's word.
  if (phase_ == Phase::asking && stop.signal == SIGHUP) return {};
  if (phase_ == Phase::idle) deadline_ = stop.grace ? now + *stop.grace : TimePoint::max();
  phase_ = Phase::asking;
  // The processes that the launcher has left are asked at once: nobody else would pass the signal
  // on.
  if (main_ended_) return main_ended(*main_ended_, now);
  return {AskMain{stop.signal}};
}

std::vector<StopAction> StopSequence::main_ended(MainEnded ended, TimePoint now) {
  if (phase_ == Phase::idle) main_ended_ = ended;
  if (phase_ != Phase::asking) return {};
  // A launcher that ended by itself has passed the signal on. One that a signal killed has not, so
  // its ranks get the rest of the grace to save.
  const bool rest_was_asked = ended.how == MainEnded::How::by_itself;
  const bool nobody_saves = rest_was_asked || ranks_gone_;
  if (nobody_saves) return sweep(std::min(deadline_, now + kSweepGrace));
  return sweep(deadline_ == TimePoint::max() ? now + kOrphansSave : deadline_);
}

// Only a sweep is cut short: a launcher that still runs may have to collect its ranks, and to tell
// of them.
std::vector<StopAction> StopSequence::ranks_gone(TimePoint now) {
  ranks_gone_ = true;
  if (phase_ == Phase::awaiting) return sweep(now + kSweepGrace);
  if (phase_ == Phase::sweeping) deadline_ = std::min(deadline_, now + kSweepGrace);
  return {};
}

// CONT follows TERM, since a stopped process handles a signal only when it goes on.
std::vector<StopAction> StopSequence::sweep(TimePoint end) {
  phase_ = Phase::sweeping;
  deadline_ = end;
  return {SignalTree{SIGTERM}, SignalTree{SIGCONT}};
}

std::vector<StopAction> StopSequence::kill(TimePoint now, Readers readers) {
  if (phase_ != Phase::killing) readers_until_ = now + kReadersFinish;
  phase_ = Phase::killing;
  readers_ = readers;
  patience_ends_ = now + kKillPatience;
  pause_ = kFirstPause;
  deadline_ = now + pause_;
  return {kill_all(now)};
}

SignalTree StopSequence::kill_all(TimePoint now) const {
  return {SIGKILL, readers_ == Readers::spared && now < readers_until_};
}

std::vector<StopAction> StopSequence::readers_at_work(TimePoint now) {
  if (phase_ == Phase::killing && now < readers_until_) patience_ends_ = now + kKillPatience;
  return {};
}

std::vector<StopAction> StopSequence::time_passed(TimePoint now) {
  if (phase_ == Phase::idle || now < deadline_) return {};
  if (phase_ == Phase::awaiting) return sweep(now + kSweepGrace);
  if (phase_ != Phase::killing) return kill(now, Readers::spared);
  if (now >= patience_ends_) return done();
  pause_ = std::min(pause_ * 2, kLongestPause);
  deadline_ = now + pause_;
  return {kill_all(now)};
}

std::vector<StopAction> StopSequence::done() {
  if (phase_ == Phase::idle) return {};
  phase_ = Phase::done;
  return {StopDone{}};
}

}  // namespace safelaunch::launch
