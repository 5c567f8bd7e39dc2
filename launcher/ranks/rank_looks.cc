#include <algorithm>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/ranks/attempt_place.h"
#include "safelaunch/ranks/rank_machine.h"

// The steps of a look, in their order, and then the news of other nodes, which are looks of other
// agents. A look costs the job's CPU: it is taken only where somebody waits, or where no hook
// speaks for a rank, and the more rarely the longer there is nothing to see. A result that comes
// after the judgement is dropped.
namespace safelaunch::ranks {
namespace {

// Ranks that no hook speaks for are looked for in /proc.
constexpr Duration kLookEvery{1'000};

// A job that has shown no rank for long shows none in the next moment: one eighth of its age later
// is soon enough, and a job that never shows any costs nothing in the end.
constexpr int kOneLookIn = 8;

// Without a status line a user whose job may end soon gets a line now and then.
constexpr Duration kNoticeEvery{60'000};

// A question that nobody has answered for so long may not have been seen.
constexpr Duration kQuestionTold{60'000};

// The words of host/activity.cc for a process below the rank's own.
constexpr const char* kInAChild = " in a child (";

// A question wakes one thread of the missing rank, for microseconds.
constexpr Duration kAskAgain{2'000};

// Ranks of a healthy job come apart by a second or so: not worth a line that comes and goes.
constexpr Duration kStatusAfter{2'000};

// One weighing of 8192 ranks takes a few milliseconds, so there are at most twelve a second.
constexpr int kRanksWeighedInAMs = 100;

std::vector<int> ranks_in(const std::vector<RankPicture>& ranks) {
  std::vector<int> numbers;
  for (const RankPicture& one : ranks) numbers.push_back(one.rank.value);
  return numbers;
}

}  // namespace

void RankMachine::take(const WatchBegins&, TimePoint now) {
  begun_ = now;
  next_look_ = now + kLookEvery;
}

std::optional<TimePoint> RankMachine::deadline() const {
  if (!judging()) return std::nullopt;
  std::optional<TimePoint> next = stages_.next_deadline();
  if (leader_watches_ && !next) next = shown_to_leader_.value_or(begun_) + rules_.stages.look_every;
  for (const auto& other :
       {next_look_, unweighed_.empty() ? std::nullopt : weigh_at_, launcher_waits_until()})
    if (other && (!next || *other < *next)) next = other;
  return next;
}

// torchrun starts its ranks only when every node has come: until then nobody waits, but torchrun.
std::optional<TimePoint> RankMachine::launcher_waits_until() const {
  const Duration limit = rules_.stages.limits.init;
  const bool some_rank =
      std::ranges::any_of(stages_.ranks(), [](const auto& one) { return one.second.known(); });
  if (rules_.stages.awaited_nodes < 2 || limit == Duration::zero() || some_rank)
    return std::nullopt;
  return begun_ + limit;
}

void RankMachine::check_launcher(TimePoint now) {
  const auto until = launcher_waits_until();
  if (!until || now < *until || !judging()) return;
  const bool met = rules_.stages.nodes_have_met;
  follow(stages_.contradict(
      FailureKind::not_started,
      fmt::format(
          "the launcher has started no rank within {}: it waits until {} nodes have come, {}",
          describe_duration(rules_.stages.limits.init), rules_.stages.awaited_nodes,
          met ? "and though safelaunch has met on all of them, the launchers do not reach "
                "each other"
              : "and no other node has shown itself"),
      now, met ? Certainty::guess : Certainty::confirmed));
}

// As long as all ranks have a hook, /proc is not read; a rank that has lost its hook makes that
// necessary again.
void RankMachine::look_again(TimePoint now) {
  if (next_look_ || !judging() || (silent_.empty() && stages_.all_heard())) return;
  next_look_ = now + kLookEvery;
}

void RankMachine::take(const WatchTimePassed&, TimePoint now) {
  if (!unweighed_.empty() && now >= *weigh_at_) return weigh_other_nodes(now);
  const auto until = launcher_waits_until();
  const bool due = (next_look_ && now >= *next_look_) || (until && now >= *until);
  due ? look(now) : sample(now);
}

void RankMachine::look(TimePoint now) {
  const TimePoint::duration age = (now - begun_) / kOneLookIn;
  const bool soon = stages_.wants_samples() || age < kLookEvery;
  next_look_ = now + (soon ? TimePoint::duration(kLookEvery) : age);
  if (silent_.empty() && stages_.all_heard()) {
    next_look_.reset();
    return sample(now);
  }
  actions_.push_back(TakeLook{{silent_.begin(), silent_.end()}});
  silent_.clear();
}

void RankMachine::take_back_guesses() {
  for (const ProcessId process : ranks_in_proc_.take_withdrawn(stages_.claimed_world(), hooked_))
    stages_.give_back(process);
}

void RankMachine::take(const LookTaken& found, TimePoint now) {
  if (!judging()) return;
  // These have closed their hook's connection and still run, so from now on /proc speaks for them.
  for (const ProcessId process : found.running) {
    hooked_.erase(process);
    in_torch_.erase(process);
    if (const auto rank = stages_.rank_of(process)) feed(RankSilent{*rank, process}, now);
  }
  if (stages_.all_heard()) {
    next_look_.reset();
    return sample(now);
  }
  const std::vector<Event> events =
      ranks_in_proc_.on(found.processes, hooked_, stages_.claimed_world());
  take_back_guesses();
  for (const Event& event : events) {
    if (const auto* started = std::get_if<RankStarted>(&event)) {
      note_process(started->rank, started->process);
      // It was given a hook and has none: perhaps it runs as another user, who cannot reach our
      // socket.
      if (rules_.hook && !another_user_told_)
        actions_.push_back(FindUser{started->rank, started->process});
    }
    feed(event, now);
  }
  check_launcher(now);
  sample(now);
}

// An entrypoint may hand on to another user far below us; once it has, nothing can be given to it.
void RankMachine::take(const AnotherUserRuns& event, TimePoint) {
  if (!frozen_ && !std::exchange(another_user_told_, true))
    tell(runs_as_another_user(event.rank, event.process));
}

void RankMachine::sample(TimePoint now) {
  if (!judging()) return;
  // The leader may need the activity of our ranks though nobody waits on this node.
  if (!stages_.wants_samples() && !leader_watches_) return judge(now);
  shown_to_leader_ = now;
  SampleRanks wanted;
  for (const Rank rank : stages_.sample_these()) {
    const watch::RankState* known = stages_.find(rank);
    if (!known || !known->process() || !known->process()->is_here()) continue;
    ask_whether_it_hears(*known->process(), now);
    wanted.ranks.push_back({rank, *known->process()});
  }
  actions_.push_back(std::move(wanted));
}

// A missing rank may have closed its hook's descriptor, and be waiting where only /proc shows it.
void RankMachine::ask_whether_it_hears(ProcessId process, TimePoint now) {
  if (!hooked_.contains(process)) return;
  const auto [asked, first] = asked_at_.try_emplace(process, now);
  if (!first && now - asked->second < kAskAgain) return;
  asked->second = now;
  actions_.push_back(AskWhetherItHears{process});
}

void RankMachine::take(const RanksSampled& found, TimePoint now) {
  if (!judging()) return;
  std::vector<Event> samples(found.activities.begin(), found.activities.end());
  // The last news of an agent holds until it tells something else, or falls silent.
  for (const auto& [seat, node] : nodes_)
    if (node.heard)
      std::ranges::move(activities_of(node.name, node.ranks), std::back_inserter(samples));
  feed(samples, now);
  sample_others(now);
}

// In training nothing is judged any more, but how the ranks end is noted, as of those here.
void RankMachine::take(const NodeSpoke& event, TimePoint now) {
  if (frozen_ || stages_.verdict()) return;
  Node& node = nodes_[event.node.seat];
  const std::vector<RankPicture> before = std::exchange(node.ranks, event.ranks);
  node.name = event.node;
  node.heard = true;
  const std::vector<int> ranks = ranks_in(node.ranks);
  if (ranks != ranks_in(before))
    actions_.push_back(RecordEvent{report::record::Node{event.node.seat, event.node.host, ranks}});
  std::ranges::move(events_between(node.name, before, node.ranks), std::back_inserter(unweighed_));
  if (!weigh_at_ || now >= *weigh_at_ || stages_.training()) weigh_other_nodes(now);
}

// A weighing looks at all ranks: of 8192 it takes some milliseconds, and the nodes send thousands
// of pictures while they start. So it takes a bounded share of a CPU, however many they are.
void RankMachine::weigh_other_nodes(TimePoint now) {
  std::vector<Event> news = std::exchange(unweighed_, {});
  weigh_at_ = now + Duration(stages_.world_size() / kRanksWeighedInAMs);
  if (news.empty() || frozen_ || stages_.verdict()) return;
  for (Event& event : news) {
    note_what_it_names(event);
    if (const auto* reached = std::get_if<StageReached>(&event)) record_stage(*reached);
    if (auto* raised = std::get_if<RankRaised>(&event)) hear_raised(*raised, now);
  }
  feed(news, now);
  for (const Event& event : news) {
    // Read after feed(), which settles which process is the rank's.
    const auto* exited = std::get_if<RankExited>(&event);
    if (exited != nullptr && is_rank(exited->rank, exited->process)) seen_.exits.push_back(*exited);
  }
}

void RankMachine::take(const NodeHeard& event, TimePoint) {
  if (const auto node = nodes_.find(event.seat); node != nodes_.end())
    node->second.heard = event.heard;
}

void RankMachine::take(const LeaderWatches& event, TimePoint now) {
  leader_watches_ = event.watches;
  if (leader_watches_) sample(now);
}

std::set<int> RankMachine::nodes_heard() const {
  std::set<int> heard;
  for (const auto& [seat, node] : nodes_)
    if (node.heard) heard.insert(seat);
  return heard;
}

void RankMachine::sample_others(TimePoint now) {
  SampleOthers wanted{{}, stages_.misses_unseen(), stages_.misses_helped(now)};
  if (!wanted.others && !wanted.helpers) return judge(now);
  for (const auto& [rank, state] : stages_.ranks())
    if (state.process()) wanted.ranks.insert(*state.process());
  actions_.push_back(std::move(wanted));
}

void RankMachine::take(const OthersSampled& found, TimePoint now) {
  if (!judging()) return;
  if (found.others)
    stages_.others_do(found.others->activity, found.others->doing, found.nameless, now);
  if (found.helpers) stages_.helpers_do(found.helpers->activity, found.helpers->doing, now);
  judge(now);
}

void RankMachine::judge(TimePoint now) {
  if (judging()) follow(stages_.tick(now));
  // A member knows nothing of the ranks that its own wait for: the leader shows those.
  if (judging() && !rules_.stages.judged_elsewhere) show_waiting(now);
  if (judging()) tell_of_questions(now);
}

// A rank's own question stands where its output does. A child may ask (a password, a host's key)
// where a progress bar writes over the question, and behind the bar's line no status line is drawn.
void RankMachine::tell_of_questions(TimePoint now) {
  for (const auto& [rank, state] : stages_.ranks()) {
    const std::string doing = state.doing(now);
    const bool asks = state.alive() && state.activity(now) == Activity::attended &&
                      doing.find(kInAChild) != std::string::npos;
    if (!asks) {
      asks_since_.erase(rank);
      continue;
    }
    std::optional<TimePoint>& since = asks_since_.try_emplace(rank, now).first->second;
    if (!since || now - *since < kQuestionTold) continue;
    since.reset();
    tell(fmt::format("rank {} {}; a progress bar may hide the question", rank.value, doing));
  }
}

void RankMachine::show_waiting(TimePoint now) {
  if (!stages_.wants_samples()) {
    waiting_since_.reset();
    return actions_.push_back(ShowStatus{});
  }
  if (!waiting_since_) waiting_since_ = now;
  const std::string line = stages_.status_line(now);
  if (now - *waiting_since_ >= kStatusAfter) actions_.push_back(ShowStatus{line});
  if (!half_is_over(now) || now - noticed_at_ < kNoticeEvery) return;
  noticed_at_ = now;
  actions_.push_back(ShowWaiting{line});
}

// The deadline moves with what the ranks do, and each has a half of its own: a rank that has worked
// for an hour and now idles has all of the time for one that idles.
bool RankMachine::half_is_over(TimePoint now) {
  const auto clock = stages_.wait_clock(now);
  if (!clock) return false;
  const Duration init = rules_.stages.limits.init;
  Duration limit = clock->limit.value_or(init);
  if (stages_.waits_for_nobody_seen()) limit = std::min(limit, init);
  if (limit != deadline_.limit || clock->lasts < deadline_.set_at)
    deadline_ = {limit, clock->lasts};
  return limit > Duration::zero() &&
         clock->lasts - deadline_.set_at >= (limit - deadline_.set_at) / 2;
}

// The last status is what `safelaunch status` shows, so it is never left out; those before it are,
// and the more the longer a job wavers.
void RankMachine::record_status(TimePoint now) {
  constexpr Duration kBetween{500};
  constexpr int kUntilTwiceAsRare = 20;
  if (status_.text.empty() || now < status_.next) return;
  actions_.push_back(RecordEvent{report::record::Status{std::exchange(status_.text, {})}});
  status_.next = now + kBetween * (1 + status_.recorded++ / kUntilTwiceAsRare);
}

}  // namespace safelaunch::ranks
