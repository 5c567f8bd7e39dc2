#include "safelaunch/run/rank_watch.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <set>

#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/launch/exit_watch.h"
#include "safelaunch/run/nccl_rank.h"
#include "safelaunch/run/stack_collection.h"
#include "safelaunch/run/stall_watch.h"
#include "safelaunch/watch/activity_sampler.h"
#include "safelaunch/watch/hook_channel.h"
#include "safelaunch/watch/observer.h"

namespace safelaunch {
namespace {

// Ranks that no hook speaks for are looked for in /proc; a job that has shown none for a minute is
// hardly a distributed one.
constexpr Duration kLookEvery{1'000};
constexpr Duration kLookSeldom{10'000};
constexpr Duration kLooksOften{60'000};

// Where there is no status line to watch, somebody who waits gets a line now and then.
constexpr Duration kNoticeAfter{10'000};
constexpr Duration kNoticeEvery{60'000};

}  // namespace

struct RankWatch::State {
  State(const Services& given, RankWatchConfig settled, Observer call)
      : services(given),
        config(std::move(settled)),
        observer(std::move(call)),
        stages(config.stages),
        looker(table, sockets),
        sampler(table),
        timer(given.io),
        stacks(given.io),
        stall(given.io, config.stall, observer.on_stall),
        nccl(given.io, config.nccl, nccl_observer()) {}

  void open_channel();
  NcclWatch::Observer nccl_observer();
  void feed(const Event& event);
  void record_stage(const StageReached& reached);
  void act_on(const std::vector<StageAction>& actions);
  void perform(const Verdict& verdict);
  void perform(const StatusChanged& status);
  void perform(const JobTraining& training);
  void hear(ProcessId process, const HookMessage& message);
  void note_store(const Event& event);
  void hear_body(ProcessId process, const HookMessage& message);
  void watch_exit(Rank rank, ProcessId process);
  void on_exit(Rank rank, ProcessId process, std::optional<ExitStatus> status);
  void look_for_ranks(TimePoint now);
  void sample(TimePoint now);
  void tick();
  void rearm();
  [[nodiscard]] bool every_rank_has_a_hook() const;
  [[nodiscard]] bool judging() const { return !frozen && !stages.verdict() && !stages.training(); }
  void show_waiting(TimePoint now);

  Services services;
  RankWatchConfig config;
  Observer observer;
  Stages stages;
  Procfs table;
  KernelSockets sockets;
  safelaunch::Observer ranks_in_proc;
  ProcessObserver looker;
  ActivitySampler sampler;
  boost::asio::steady_timer timer;
  StackCollection stacks;
  StallWatch stall;
  NcclWatch nccl;
  std::unique_ptr<HookChannel> channel;
  std::map<ProcessId, Rank> hooked;
  std::map<ProcessId, Rank> plugged;  // by NCCL's plugin
  std::set<ProcessId> in_torch;       // whose hook has seen them call it
  std::set<ProcessId> spawned;
  std::map<ProcessId, ExitWatch> exits;
  RanksSeen seen;
  bool frozen = false;
  TimePoint begun{};
  std::optional<TimePoint> next_look;
  std::optional<TimePoint> waiting_since;
  TimePoint noticed_at{};
};

void RankWatch::State::open_channel() {
  if (!config.hook) return;
  HookChannel::Listener listener;
  listener.on_message = [this](ProcessId process, const HookMessage& message) {
    hear(process, message);
  };
  listener.on_closed = [](ProcessId) {};  // an end is seen by its pidfd
  auto opened =
      HookChannel::open(services.io, config.hook->socket, config.hook->token, std::move(listener));
  // Without it the ranks are watched from /proc alone, as with --no-hook.
  if (!opened) return log_warning(opened.error().message);
  channel = std::move(*opened);
}

NcclWatch::Observer RankWatch::State::nccl_observer() {
  NcclWatch::Observer listener;
  listener.whose = [this](const NcclProcessName& who, const std::optional<NcclPart>& part) {
    return rank_of(who, part, {hooked, plugged, stages, config.nccl.variable});
  };
  listener.world_size = [this] { return stages.world_size(); };
  listener.on_event = [this](const Event& event) {
    if (!judging()) return;
    if (const auto* started = std::get_if<RankStarted>(&event))
      if (started->process.start_ticks != 0) watch_exit(started->rank, started->process);
    if (const auto* reached = std::get_if<StageReached>(&event)) record_stage(*reached);
    feed(event);
  };
  listener.on_contradiction = [this](const NcclContradiction& found) {
    if (frozen) return;
    const bool twice = found.about == NcclRootComplaint::About::rank_twice;
    act_on(stages.contradict(
        twice ? Verdict::Kind::duplicate_rank : Verdict::Kind::world_size_mismatch, found.text,
        Clock::now()));
  };
  listener.on_said = [this](std::optional<Rank> rank, const NcclSaid& said) {
    if (!frozen) observer.on_nccl_said(rank, said);
  };
  return listener;
}

void RankWatch::State::feed(const Event& event) {
  const auto* entered = std::get_if<StageEntered>(&event);
  if (entered != nullptr && entered->stage >= Stage::group && !frozen) observer.on_meeting();
  act_on(stages.on(event, Clock::now()));
  seen.world_size = stages.world_size();
}

void RankWatch::State::act_on(const std::vector<StageAction>& actions) {
  for (const StageAction& action : actions)
    std::visit([this](const auto& held) { perform(held); }, action);
  rearm();
}

void RankWatch::State::perform(const Verdict& verdict) {
  if (frozen) return;
  Verdict told = verdict;
  if (is_stuck(told) && told.stage >= Stage::communicator)
    told.nccl = describe_standing(nccl.record());
  observer.on_verdict(told);
}

void RankWatch::State::perform(const StatusChanged& status) {
  services.log.record("status", {{"text", status.text}});
}

void RankWatch::State::perform(const JobTraining&) {
  sampler.forget();
  observer.on_status({});
  observer.on_training();
  stall.begin([this](int id) {
    for (const auto& [process, rank] : hooked) channel->ask(process, HookQuestion::counters, id);
  });
}

// Hook, log and plugin may tell the same.
void RankWatch::State::record_stage(const StageReached& reached) {
  const auto known = stages.ranks().find(reached.rank);
  if (known != stages.ranks().end() && known->second.reached(reached.stage)) return;
  services.log.record("stage", {{"rank", std::int64_t{reached.rank.value}},
                                {"stage", std::string(name(reached.stage))},
                                {"pid", std::int64_t{reached.process.pid}}});
}

void RankWatch::State::hear(ProcessId process, const HookMessage& message) {
  if (frozen) return;
  const bool by_plugin = message.source == Source::plugin;
  if (message.rank) (by_plugin ? plugged : hooked)[process] = *message.rank;
  // Where the hook watches the collectives, its word counts: the plugin's event passes too when a
  // communicator is aborted.
  if (by_plugin && in_torch.contains(process)) return;
  for (const Event& event : message.events) {
    note_store(event);
    if (const auto* reached = std::get_if<StageReached>(&event)) record_stage(*reached);
    if (const auto* raised = std::get_if<RankRaised>(&event)) {
      const auto* ending = std::get_if<HookException>(&message.body);
      seen.raised.push_back({*raised, ending != nullptr && ending->communication});
    }
    if (const auto* started = std::get_if<RankStarted>(&event)) watch_exit(started->rank, process);
    if (const auto* entered = std::get_if<StageEntered>(&event)) {
      watch_exit(entered->rank, process);
      if (!by_plugin) in_torch.insert(process);
    }
    feed(event);
  }
  hear_body(process, message);
}

void RankWatch::State::note_store(const Event& event) {
  const auto* entered = std::get_if<StageEntered>(&event);
  if (entered != nullptr && entered->stage == Stage::rendezvous)
    seen.knocking[entered->rank] = entered->detail;
  const auto* reached = std::get_if<StageReached>(&event);
  if (reached != nullptr && reached->stage == Stage::rendezvous) seen.knocking.erase(reached->rank);
}

void RankWatch::State::hear_body(ProcessId process, const HookMessage& message) {
  if (const auto* answer = std::get_if<StackAnswer>(&message.body)) {
    stacks.answered(process, *answer);
  } else if (const auto* counters = std::get_if<CountersAnswer>(&message.body)) {
    if (message.rank) stall.answered(*message.rank, *counters);
  } else if (const auto* refusal = std::get_if<HookRefusal>(&message.body)) {
    observer.on_notice(fmt::format("{} is refused: {}", refusal->what, refusal->why));
  } else if (const auto* fault = std::get_if<HookFault>(&message.body)) {
    services.log.record("hook_error", {{"where", fault->where}, {"error", fault->error}});
  }
}

// Of a process that we spawned we are told the end; others are watched by a pidfd.
void RankWatch::State::watch_exit(Rank rank, ProcessId process) {
  if (spawned.contains(process) || exits.contains(process)) return;
  exits.emplace(process, ExitWatch(services.io, process,
                                   [this, rank, process](std::optional<ExitStatus> status) {
                                     on_exit(rank, process, status);
                                   }));
}

void RankWatch::State::on_exit(Rank rank, ProcessId process, std::optional<ExitStatus> status) {
  if (frozen) return;
  // Its last words come before its end.
  nccl.read_now();
  if (channel) channel->drain(process);
  const auto known = stages.ranks().find(rank);
  if (known != stages.ranks().end() && known->second.process() == process)
    seen.exits.push_back({rank, process, status});
  feed(RankExited{rank, process, status});
}

bool RankWatch::State::every_rank_has_a_hook() const {
  std::set<Rank> ranks;
  for (const auto& [process, rank] : hooked) ranks.insert(rank);
  return stages.world_size() > 0 && static_cast<int>(ranks.size()) >= stages.world_size();
}

void RankWatch::State::look_for_ranks(TimePoint now) {
  if (!next_look || now < *next_look) return;
  next_look =
      now + (now - begun < kLooksOften || stages.wants_samples() ? kLookEvery : kLookSeldom);
  if (every_rank_has_a_hook()) return next_look.reset();
  for (const Event& event : ranks_in_proc.on(looker.look(self()), hooked)) {
    if (const auto* started = std::get_if<RankStarted>(&event))
      watch_exit(started->rank, started->process);
    feed(event);
  }
}

void RankWatch::State::sample(TimePoint now) {
  if (!stages.wants_samples()) return;
  for (const Rank rank : stages.sample_these()) {
    const auto known = stages.ranks().find(rank);
    if (known == stages.ranks().end() || !known->second.process()) continue;
    if (const auto activity = sampler.look(rank, *known->second.process(), now)) feed(*activity);
  }
}

void RankWatch::State::tick() {
  const TimePoint now = Clock::now();
  look_for_ranks(now);
  if (judging()) sample(now);
  if (judging()) act_on(stages.tick(now));
  if (judging()) show_waiting(now);
  rearm();
}

void RankWatch::State::show_waiting(TimePoint now) {
  if (!stages.wants_samples()) {
    waiting_since.reset();
    return observer.on_status({});
  }
  if (!waiting_since) waiting_since = now;
  const std::string line = stages.status_line(now);
  observer.on_status(line);
  if (now - *waiting_since < kNoticeAfter || now - noticed_at < kNoticeEvery) return;
  noticed_at = now;
  observer.on_waiting(line);
}

void RankWatch::State::rearm() {
  if (!judging()) return void(timer.cancel());
  std::optional<TimePoint> next = stages.next_deadline();
  if (next_look && (!next || *next_look < *next)) next = next_look;
  if (!next) return void(timer.cancel());
  if (timer.expiry() == *next) return;
  timer.expires_at(*next);
  timer.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) tick();
  });
}

RankWatch::RankWatch(const Services& services, RankWatchConfig config, Observer observer)
    : state_(std::make_unique<State>(services, std::move(config), std::move(observer))) {
  state_->open_channel();
}

RankWatch::~RankWatch() = default;

void RankWatch::begin() {
  state_->begun = Clock::now();
  state_->next_look = state_->begun + kLookEvery;
  state_->rearm();
}

void RankWatch::started(Rank rank, ProcessId process) {
  state_->spawned.insert(process);
  state_->feed(RankStarted{rank, process, state_->config.stages.world_size, Source::launch});
}

void RankWatch::ended(Rank rank, ProcessId process, const ExitStatus& status) {
  state_->on_exit(rank, process, status);
}

void RankWatch::saw_output(StreamId stream, std::string_view bytes) {
  state_->stall.saw_output();
  if (state_->judging()) state_->nccl.saw_output(stream, bytes);
}

void RankWatch::freeze() {
  if (state_->frozen) return;
  state_->nccl.read_now();
  state_->nccl.stop();
  state_->frozen = true;
  state_->timer.cancel();
  state_->stall.end();
}

bool RankWatch::training() const {
  return state_->stages.training();
}

void RankWatch::ask_stacks(const std::filesystem::path& directory, Duration limit,
                           std::function<void()> done) {
  state_->stacks.begin(
      state_->stages.ranks(), directory, limit,
      [this](ProcessId process, int id) {
        return state_->channel && state_->channel->ask(process, HookQuestion::stack, id);
      },
      [this, call = std::move(done)](std::map<Rank, StackSeen> stacks) {
        state_->seen.stacks = std::move(stacks);
        call();
      });
}

RanksSeen RankWatch::seen() const {
  RanksSeen seen = state_->seen;
  seen.nccl = state_->nccl.record();
  return seen;
}

std::string RankWatch::stages_reached() const {
  return state_->stages.counts_text();
}

}  // namespace safelaunch
