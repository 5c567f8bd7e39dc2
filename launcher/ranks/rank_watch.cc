#include "safelaunch/ranks/rank_watch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <utility>

#include "safelaunch/base/log.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/clean/removal.h"
#include "safelaunch/gpu/visible.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/ranks/extension_locks.h"
#include "safelaunch/ranks/nameless.h"

// Everything that is heard becomes an event of the machine, and the machine's actions are performed
// at once: a look is an action whose result is the next event. The first part hears, the second
// performs. A process that NCCL's log names is known by its pid alone, so rank_of() asks who it is:
// first the processes that have spoken, then its own environment, then NCCL's numbers.
namespace safelaunch::ranks {
namespace {

// How a rank told of its collectives when an exception ended it.
void put_end(watch::RankCollectives& own, const watch::RankCollectives& end) {
  own.groups = end.groups;
  if (!end.told) return;
  own.told = true;
  own.last = end.last;
  own.members = end.members;
}

// cuInit takes ten seconds and more where eight GPUs have to be woken.
constexpr Duration kDriverAnswersWithin{30'000};

// Twice the usual time, for a host on which everything is busy.
constexpr Duration kPlacesWithin = 2 * watch::kHookAnswersWithin;

// The leader needs a node's picture no more often than this, and the board must carry every node's.
constexpr Duration kShowLeaderEvery{200};

// torch's ProcessGroupNCCL.cpp, checkTimeout(), JAX's coordination service (XLA's client.h), and
// SGLang's watchdog.py, which has all killed 5 s later, unless it is a soft one.
constexpr std::array<std::string_view, 3> kGivesUp{"Watchdog caught collective operation timeout",
                                                   "DEADLINE_EXCEEDED: Deadline Exceeded",
                                                   "self.soft=False)"};

constexpr std::array kAfterVerdict{watch::HookQuestion::stack, watch::HookQuestion::counters,
                                   watch::HookQuestion::collectives};
constexpr std::array kWhereTheyStand{watch::HookQuestion::stack};
constexpr std::array kForAPerson{watch::HookQuestion::stack, watch::HookQuestion::counters};

DriverWatch::Limits driver_limits(const watch::StageLimits& limits) {
  return {limits.quiet, std::min(limits.init, kDriverAnswersWithin)};
}

// A pod's entrypoint, and all that it starts, has the number of its node as RANK.
std::optional<watch::RankIdentity> own_identity() {
  const auto environment = host::environment_of(host::self().pid);
  return environment ? watch::identity_in(*environment) : std::nullopt;
}

// RANK of a process that was started with this value of NCCL_DEBUG_FILE.
std::optional<Rank> rank_by_environment(int pid, std::string_view log_file) {
  const auto environment = host::environment_of(pid);
  if (!environment || value_or(*environment, "NCCL_DEBUG_FILE") != log_file) return std::nullopt;
  const auto rank = to_number(value_or(*environment, "RANK"));
  return rank && *rank >= 0 ? std::optional(Rank{*rank}) : std::nullopt;
}

std::optional<Rank> rank_by_process(const ProcessId& process, const KnownRanks& known) {
  for (const auto* told : {&known.hooked, &known.plugged})
    if (const auto found = told->find(process); found != told->end()) return found->second;
  for (const auto& [rank, state] : known.stages.ranks())
    if (state.process() == process) return rank;
  return std::nullopt;
}

std::optional<RankStarted> rank_by_part(const ProcessId& process, const nccl::Part& part,
                                        const watch::Stages& stages) {
  const int world = stages.world_size();
  if (world > 0 && world != part.ranks) return std::nullopt;
  RankStarted found{Rank{part.rank}, process, part.ranks, Source::nccl_log};
  if (const auto* known = stages.find(found.rank); known && known->alive())
    found.process = *known->process();
  return found;
}

bool is_our_child(ProcessId process) {
  const auto facts = host::facts_of(process);
  return facts && facts->parent == host::self().pid;
}

void take_answer(const RankAnswers& answers, stacks::KnownRank& known) {
  if (const auto seen = answers.stacks.find(known.rank); seen != answers.stacks.end()) {
    known.where = seen->second.where;
    known.frames = seen->second.frames;
    known.from_outside = seen->second.from_outside;
  }
  const auto counted = answers.collectives.find(known.rank);
  if (counted != answers.collectives.end() && !counted->second.groups.empty())
    known.collectives = sum_of(counted->second.groups).finished;
}

}  // namespace

std::optional<RankStarted> rank_of(const nccl::ProcessName& who,
                                   const std::optional<nccl::Part>& part, const KnownRanks& known) {
  const auto facts = host::facts_of(who.pid);
  const ProcessId process = facts ? facts->id : ProcessId{who.pid, 0};
  auto rank = rank_by_process(process, known);
  if (!rank) rank = rank_by_environment(who.pid, known.log_file);
  if (rank) return RankStarted{*rank, process, std::nullopt, Source::nccl_log};
  return part ? rank_by_part(process, *part, known.stages) : std::nullopt;
}

RankWatch::RankWatch(const Services& services, RankWatchConfig config, OnRanksTell tell)
    : services_(services),
      config_(std::move(config)),
      tell_(std::move(tell)),
      machine_({config_.stages, config_.hook.has_value(), own_identity()}),
      looker_(table_, sockets_),
      sampler_(table_),
      timer_(services.io),
      inquiry_(services.io, services.disk),
      places_(services.io, services.disk),
      shown_(services.io, services.disk),
      nodes_answer_(services.io),
      show_(services.io),
      stall_(services.io, config_.stall, ranks_now(), machine_.seen().finished, tell_,
             [this](int id) {
               ask_counters(id);
               tell_(AskCounts{id});
             }),
      counts_(
          services.io, ranks_now(), [this](int id) { ask_counters(id); },
          [this](const NodeCounts& counts) { tell_(TellCounts{counts}); }),
      stragglers_(services.log),
      nccl_(services.io, config_.nccl,
            {.whose =
                 [this](const nccl::ProcessName& who, const std::optional<nccl::Part>& part) {
                   return rank_of(who, part,
                                  {machine_.hooked(), machine_.plugged(), machine_.stages(),
                                   config_.nccl.variable});
                 },
             .world_size = [this] { return machine_.stages().world_size(); },
             .expects = [this] { return gpu::may_find_gpu(config_.environment); },
             .hear =
                 [this](const nccl::LogNews& news) {
                   std::visit([this](const auto& one) { take(one); }, news);
                 }}),
      driver_(services, driver_limits(config_.stages.limits), ranks_now(),
              [this](const DriverSilent& silent) { take(silent); }),
      standstill_(services.io, {config_.stages.limits.init, config_.start}, ranks_now(),
                  [this](const AllStandStill& still) { take(still); }),
      usage_(services, ranks_now()) {
  open_channel();
}

RankWatch::~RankWatch() = default;

void RankWatch::open_channel() {
  if (!config_.hook) return;
  auto opened =
      watch::HookChannel::open(services_.io, config_.hook->socket, config_.hook->token, *this);
  // Without it the ranks are watched from /proc alone, as with --no-hook.
  if (!opened) return log_warning(opened.error().message);
  channel_ = std::move(*opened);
  if (!config_.run.empty())
    door_ = StacksDoor::open(services_.io, stacks::door_of(config_.run),
                             [this] { take(StacksWanted{}); });
}

// The processes above are read at once, because the one that has spoken may end at any moment.
void RankWatch::on_hook_message(ProcessId process, const watch::HookMessage& message) {
  // A helper may have a server of its own, without which the job goes on.
  if (std::holds_alternative<watch::HookServeFailed>(message.body) && !is_our_child(process))
    return;
  if (!message.rank || !machine_.wants_line(process, message))
    return take(HookSpoke{process, message});
  const watch::RankIdentity identity{*message.rank, message.world_size, message.local_rank};
  take(HookSpoke{
      process, message,
      watch::line_of({process, identity}, machine_.parent_of(process), host::self(), table_)});
}

void RankWatch::begin() {
  driver_.begin(config_.environment);
  standstill_.begin();
  usage_.begin(config_.environment);
  take(WatchBegins{});
}

void RankWatch::ended(Rank rank, ProcessId process, const std::optional<ExitStatus>& status) {
  // Its last words come before its end.
  if (!machine_.frozen()) {
    nccl_.read_now();
    if (channel_) channel_->drain(process);
  }
  take(ProcessEnded{rank, process, status});
}

void RankWatch::saw_output(output::StreamId stream, std::string_view bytes) {
  stall_.saw_output();
  counts_.saw_output();
  usage_.look();
  if (machine_.judging()) nccl_.saw_output(stream, bytes);
  const auto is_in = [bytes](std::string_view words) { return bytes.find(words) != bytes.npos; };
  if (std::ranges::any_of(kGivesUp, is_in)) take(WatchdogSpoke{});
}

// NCCL's log is read once more before anything is frozen: its last lines may show why ranks wait.
void RankWatch::freeze() {
  if (machine_.frozen()) return;
  nccl_.read_now();
  nccl_.stop();
  inquiry_.finish();
  take(WatchFreezes{});
  if (channel_ && channel_->unheard() > 0)
    services_.log.record(report::record::Unheard{static_cast<std::int64_t>(channel_->unheard())});
  driver_.end();
  standstill_.end();
  stall_.end();
  usage_.end();
}

void RankWatch::ask_ranks(const std::filesystem::path& directory, Duration limit, Whom whom) {
  const std::set<int> nodes = machine_.nodes_heard();
  nodes_answer_.cancel();
  answers_.begin(nodes);
  if (!nodes.empty()) tell_(AskNodes{});
  inquiry_.begin(channel_.get(), who_can_answer(ranks_now(), Clock::now(), whom), kAfterVerdict,
                 directory, limit, machine_.seen().calls,
                 [this, limit](const RankAnswers& answers) { hear_answers(answers, limit); });
}

// The ranks of other nodes have as long as ours, and the news of them travels twice.
void RankWatch::hear_answers(RankAnswers answers, Duration limit) {
  std::set<ProcessId> here;
  for (const auto& [rank, state] : ranks_now()) {
    if (!state.alive() || !state.process()->is_here()) continue;
    here.insert(*state.process());
    if (!answers.stacks.contains(rank)) answers.silent[rank] = state.activity(Clock::now());
  }
  for (const auto& [rank, came_to] : machine_.seen().came_to)
    put_end(answers.collectives[rank], came_to);
  // In training a look at every descriptor of the host would cost the job time.
  const bool trains = machine_.stages().training();
  if (!trains) answers.locks = find_lock_waits(answers, ranks_now());
  if (!trains || stall_.somebody_meets())
    answers.nameless = describe_nameless(nameless_below(host::self(), here, table_));
  if (answers_.take_own(answers)) return tell_answers();
  nodes_answer_.set_after(2 * limit, [this, question = answers_.question()] {
    if (question == answers_.question()) tell_answers();
  });
}

void RankWatch::node_answered(const NodeName& node, const RankAnswers& answers) {
  if (answers_.take(node.seat, node.host, answers)) tell_answers();
}

void RankWatch::tell_answers() {
  nodes_answer_.cancel();
  answers_.close();
  tell_(RanksAnswered{answers_.answers()});
}

// Many events come at once; the leader needs the picture behind them.
void RankWatch::show_leader_soon() {
  if (!config_.for_leader || std::exchange(show_set_, true)) return;
  show_.set_after(kShowLeaderEvery, [this] {
    show_set_ = false;
    std::vector<RankPicture> now = picture();
    if (now == shown_picture_) return;
    shown_picture_ = std::move(now);
    tell_(TellPicture{shown_picture_});
  });
}

std::optional<Failure> RankWatch::waiting_now() const {
  // A member sees its own ranks alone, so it cannot say for which rank they wait.
  if (config_.stages.judged_elsewhere) return std::nullopt;
  return machine_.judging() ? machine_.stages().waiting_now(Clock::now()) : std::nullopt;
}

RanksSeen RankWatch::seen() const {
  RanksSeen seen = machine_.seen();
  seen.answers = answers_.answers();
  // It may have answered just before it gave up.
  for (const auto& [rank, came_to] : seen.came_to)
    if (std::ranges::any_of(seen.raised, [rank = rank](const RankRaised& one) {
          return one.rank == rank && is_timeout(one);
        }))
      put_end(seen.answers.collectives[rank], came_to);
  seen.nccl = nccl_.record();
  seen.cut_off_build = cut_off_build_;
  seen.stores_here = stores_here_;
  return seen;
}

// The kernel may know of an end of which we have not heard yet.
bool RankWatch::ranks_live() const {
  return std::ranges::any_of(ranks_now(), [](const auto& one) {
    const watch::RankState& state = one.second;
    return state.alive() && state.process()->is_here() && !state.blind() &&
           host::is_running(*state.process());
  });
}

void RankWatch::ask_counters(int id) {
  if (!channel_) return;
  std::set<Rank> asked;
  const bool compares = !config_.stages.is_server && stragglers_.wants_to_ask();
  for (const auto& [process, rank] : machine_.hooked()) {
    channel_->ask(process, watch::HookQuestion::counters, id);
    if (compares && channel_->ask(process, watch::HookQuestion::arrivals, id)) asked.insert(rank);
  }
  if (!asked.empty()) stragglers_.begin(id, std::move(asked));
}

// The machine's actions, performed.

void RankWatch::take(const WatchEvent& event) {
  for (const WatchAction& action : machine_.on(event, Clock::now()))
    std::visit([this](const auto& one) { perform(one); }, action);
  usage_.look();
  set_timer();
  show_leader_soon();
  const bool wait = machine_.judging() && machine_.stages().wants_samples();
  if (std::exchange(ranks_wait_, wait) != wait) tell_(RanksWait{wait});
}

void RankWatch::set_timer() {
  const auto deadline = machine_.deadline();
  if (!deadline) return void(timer_.cancel());
  // Most events leave the deadline as it is, and then the timer need not be set anew.
  if (timer_.due() == *deadline) return;
  timer_.set(*deadline, [this] { take(WatchTimePassed{}); });
}

void RankWatch::perform(const WatchExit& watch) {
  // An ExitWatch cannot be destroyed within its own call, so those that have told go at the next
  // one.
  for (const ProcessId ended : std::exchange(told_exits_, {})) exits_.erase(ended);
  const auto [rank, process] = watch;
  exits_.emplace(process, launch::ExitWatch(services_.io, process,
                                            [this, rank = rank, process = process](auto status) {
                                              told_exits_.push_back(process);
                                              ended(rank, process, status);
                                            }));
}

void RankWatch::perform(const AskWhetherItHears& ask) {
  if (channel_) (void)channel_->ask(ask.process, watch::HookQuestion::here, 0);
}

void RankWatch::perform(const TakeLook& look) {
  LookTaken found;
  std::ranges::copy_if(look.silent, std::back_inserter(found.running), host::is_running);
  found.processes = looker_.look(host::self());
  take(found);
}

void RankWatch::perform(const SampleRanks& sample) {
  const TimePoint now = Clock::now();
  RanksSampled found;
  for (const auto& [rank, process] : sample.ranks)
    if (const auto activity = sampler_.look(rank, process, now))
      found.activities.push_back(*activity);
  take(found);
}

void RankWatch::perform(const SampleOthers& sample) {
  const TimePoint now = Clock::now();
  OthersSampled found;
  if (sample.others) {
    found.others = sampler_.look_at_others(host::self(), sample.ranks, now);
    if (!nameless_below(host::self(), sample.ranks, table_).empty())
      found.nameless = watch::Nameless::is_left;
    else if (python_has_started(sample.ranks, host::self(), table_))
      found.nameless = watch::Nameless::has_started_ranks;
  }
  if (sample.helpers) found.helpers = sampler_.look_at_helpers(host::self(), sample.ranks, now);
  take(found);
}

void RankWatch::perform(const FindUser& find) {
  const auto facts = host::facts_of(find.process);
  if (facts && facts->uid != ::geteuid()) take(AnotherUserRuns{find.rank, *facts});
}

void RankWatch::perform(const AskPlaces&) {
  places_.begin(
      channel_.get(), who_can_answer(ranks_now(), Clock::now()), kWhereTheyStand, {}, kPlacesWithin,
      {}, [this](const RankAnswers& answers) {
        const BuildWait wait = waits_for_a_build(answers);
        const WaitedLocks locks = wait == BuildWait::none
                                      ? WaitedLocks{}
                                      : find_waited_locks(config_.environment, config_.clean, wait);
        LockWaits waits = find_lock_waits(answers, ranks_now());
        std::erase_if(waits,
                      [&](const auto& one) { return locks.paths.contains(one.second.lock.path); });
        const std::string others = describe(waits);
        const bool both = !locks.words.empty() && !others.empty();
        take(
            PlacesTold{answers, locks.words + (both ? "; " : "") + others, locks.left, locks.help});
      });
}

void RankWatch::perform(const RemoveLocks& locks) {
  const RemovedLocks removed = remove_waited_locks(locks.left, config_.clean);
  for (const std::string& line : removed.lines) {
    services_.log.record(report::record::Notice{line});
    tell_(TellNotice{line});
  }
  if (!removed.cut_off.empty()) cut_off_build_ = removed.cut_off;
}

void RankWatch::perform(const ShowStacks& show) {
  shown_.begin(channel_.get(), show.ask, kForAPerson, {}, kPlacesWithin, {},
               [this, known = show.known](const RankAnswers& answers) mutable {
                 for (stacks::KnownRank& one : known.ranks) take_answer(answers, one);
                 door_->answer(stacks::answer_text(known));
               });
}

void RankWatch::perform(const PassAnswer& pass) {
  std::visit([&](const auto& answer) { hear(pass, answer); }, pass.answer);
}

void RankWatch::hear(const PassAnswer& from, const watch::StackAnswer& stack) {
  inquiry_.answered(from.process, stack);
  places_.answered(from.process, stack);
  shown_.answered(from.process, stack);
}

void RankWatch::hear(const PassAnswer& from, const watch::CollectivesAnswer& collectives) {
  inquiry_.answered(from.process, collectives);
}

void RankWatch::hear(const PassAnswer& from, const watch::CountersAnswer& counters) {
  inquiry_.answered(from.process, counters);
  if (!from.rank) return;
  shown_.answered(from.process, counters);
  stall_.answered(*from.rank, counters);
  counts_.answered(*from.rank, counters);
  const std::int64_t finished = counted_by(counters).collectives.finished;
  usage_.counted(*from.rank, finished);
  stragglers_.counted(*from.rank, finished);
  services_.log.tell(report::record::Counted{from.rank->value, finished});
}

void RankWatch::hear(const PassAnswer& from, const watch::ArrivalsAnswer& arrivals) {
  if (from.rank) stragglers_.answered(*from.rank, arrivals);
}

void RankWatch::perform(const TellVerdict& tell) {
  usage_.look_at_the_end();
  if (tell.verdict.kind == FailureKind::hung)
    stores_here_ = stores_here(machine_.seen().stores, machine_.seen().knocking, sockets_);
  TellVerdict told = tell;
  if (is_stuck(told.verdict.kind) && told.verdict.stage >= Stage::communicator)
    told.verdict.nccl = describe_standing(nccl_.record());
  tell_(told);
}

void RankWatch::perform(const BeginTraining&) {
  sampler_.forget();
  driver_.end();
  standstill_.end();
  tell_(ShowStatus{});
  tell_(TrainingBegan{config_.stages.serves});
  if (config_.stages.judged_elsewhere) return;  // the leader tells of a standstill
  const auto is_gloo = [](const std::string& backend) { return backend == "gloo"; };
  const bool sleeps = std::ranges::all_of(machine_.seen().backends, is_gloo);
  stall_.begin(machine_.stages().world_size(),
               sleeps ? watch::Stall::Waiting::sleeps : watch::Stall::Waiting::may_spin);
}

}  // namespace safelaunch::ranks
