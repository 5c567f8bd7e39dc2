// RankWatch: when to look, and what follows from what is known.
#include <boost/asio/io_context.hpp>

#include "rank_watch_state.h"

namespace safelaunch::run {
namespace {

// Where there is no status line to watch, somebody who waits gets a line now and then.
constexpr Duration kNoticeAfter{10'000};
constexpr Duration kNoticeEvery{60'000};

// What a question wakes in a rank that is missing is one thread, for microseconds.
constexpr Duration kAskAgain{2'000};

// Ranks of a healthy job come apart by a second or so: not worth a line that comes and goes.
constexpr Duration kStatusAfter{2'000};

}  // namespace

void RankWatch::State::feed(const Event& event) {
  const auto* entered = std::get_if<StageEntered>(&event);
  if (entered != nullptr && entered->stage >= Stage::group && !frozen) caller.on_meeting();
  act_on(stages.on(event, Clock::now()));
  seen.world_size = stages.world_size();
  if (const auto* started = std::get_if<RankStarted>(&event)) forget_former_life(*started);
}

// Whoever started the rank again has mended how its former process ended.
void RankWatch::State::forget_former_life(const RankStarted& started) {
  if (!is_rank(started.rank, started.process)) return;
  const auto is_former = [&](Rank rank, ProcessId process) {
    return rank == started.rank && process != started.process;
  };
  std::erase_if(seen.exits,
                [&](const RankExited& one) { return is_former(one.rank, one.process); });
  std::erase_if(seen.raised,
                [&](const RankRaised& one) { return is_former(one.rank, one.process); });
}

void RankWatch::State::act_on(const std::vector<watch::StageAction>& actions) {
  for (const watch::StageAction& action : actions)
    std::visit([this](const auto& held) { perform(held); }, action);
  rearm();
}

void RankWatch::State::perform(const Failure& verdict) {
  if (frozen) return;
  Failure told = verdict;
  if (is_stuck(told.kind) && told.stage >= Stage::communicator)
    told.nccl = describe_standing(nccl.record());
  caller.on_verdict(told);
}

void RankWatch::State::perform(const watch::StatusChanged& status) {
  services.log.record_some(report::record::Status{status.text});
}

void RankWatch::State::perform(const watch::JobTraining&) {
  sampler.forget();
  driver.end();
  standstill.end();
  caller.on_status({});
  caller.on_training();
  if (config.stall == Duration::zero()) {
    if (channel) channel->ask_no_more();
    return;
  }
  stall.begin([this](int id) {
    for (const auto& [process, rank] : hooked)
      channel->ask(process, watch::HookQuestion::counters, id);
  });
}

void RankWatch::State::sample(TimePoint now) {
  if (!stages.wants_samples()) return;
  for (const Rank rank : stages.sample_these()) {
    const auto known = stages.ranks().find(rank);
    if (known == stages.ranks().end() || !known->second.process()) continue;
    ask_whether_it_hears(*known->second.process(), now);
    if (const auto activity = sampler.look(rank, *known->second.process(), now)) feed(*activity);
  }
  if (stages.misses_unseen() || stages.misses_helped(now)) sample_others(now);
}

// A missing rank may have closed its hook's descriptor, and be waiting where only /proc shows it.
void RankWatch::State::ask_whether_it_hears(ProcessId process, TimePoint now) {
  if (!channel || !hooked.contains(process)) return;
  const auto [asked, first] = asked_at.try_emplace(process, now);
  if (!first && now - asked->second < kAskAgain) return;
  asked->second = now;
  (void)channel->ask(process, watch::HookQuestion::here, 0);
}

void RankWatch::State::sample_others(TimePoint now) {
  std::set<ProcessId> known;
  for (const auto& [rank, state] : stages.ranks())
    if (state.process()) known.insert(*state.process());
  if (stages.misses_unseen())
    if (const auto others = sampler.look_at_others(host::self(), known, now))
      stages.others_do(others->activity, others->doing, now);
  if (stages.misses_helped(now))
    if (const auto helpers = sampler.look_at_helpers(host::self(), known, now))
      stages.helpers_do(helpers->activity, helpers->doing, now);
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
    return caller.on_status({});
  }
  if (!waiting_since) waiting_since = now;
  const std::string line = stages.status_line(now);
  if (now - *waiting_since >= kStatusAfter) caller.on_status(line);
  if (now - *waiting_since < kNoticeAfter || now - noticed_at < kNoticeEvery) return;
  noticed_at = now;
  caller.on_waiting(line);
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

RankWatch::RankWatch(const Services& services, RankWatchConfig config, Listener& listener)
    : state_(std::make_unique<State>(services, std::move(config), listener)) {
  state_->open_channel();
}

RankWatch::~RankWatch() = default;

void RankWatch::begin() {
  state_->begun = Clock::now();
  state_->driver.begin(
      state_->config.environment, [state = state_.get()]() -> const auto& {
        return state->stages.ranks();
      });
  state_->standstill.begin([state = state_.get()]() -> const auto& {
    return state->stages.ranks();
  });
  state_->next_look = state_->begun + State::kLookEvery;
  state_->rearm();
}

void RankWatch::started(Rank rank, ProcessId process) {
  state_->spawned.insert(process);
  state_->feed(RankStarted{rank, process, state_->config.stages.world_size, Source::launch});
}

void RankWatch::ended(Rank rank, ProcessId process, const ExitStatus& status) {
  state_->on_exit(rank, process, status);
}

void RankWatch::saw_output(output::StreamId stream, std::string_view bytes) {
  state_->stall.saw_output();
  if (state_->judging()) state_->nccl.saw_output(stream, bytes);
}

void RankWatch::freeze() {
  if (state_->frozen) return;
  state_->nccl.read_now();
  state_->nccl.stop();
  state_->frozen = true;
  if (state_->channel && state_->channel->unheard() > 0)
    state_->services.log.record(
        report::record::Unheard{static_cast<std::int64_t>(state_->channel->unheard())});
  state_->driver.end();
  state_->standstill.end();
  state_->timer.cancel();
  state_->stall.end();
}

bool RankWatch::training() const {
  return state_->stages.training() || state_->stages.may_have_trained();
}

void RankWatch::ask_ranks(const std::filesystem::path& directory, Duration limit,
                          std::function<void(const RankAnswers&)> done) {
  state_->inquiry.begin(
      state_->stages.ranks(), directory, limit,
      [this](ProcessId process, watch::HookQuestion question) {
        return state_->channel && state_->channel->ask(process, question, 0);
      },
      [this, call = std::move(done)](RankAnswers answers) {
        state_->seen.answers = std::move(answers);
        call(state_->seen.answers);
      });
}

std::optional<Failure> RankWatch::waiting_now() const {
  return state_->judging() ? state_->stages.waiting_now(Clock::now()) : std::nullopt;
}

RanksSeen RankWatch::seen() const {
  RanksSeen seen = state_->seen;
  seen.nccl = state_->nccl.record();
  return seen;
}

std::string RankWatch::stages_reached() const {
  return state_->stages.counts_text();
}

}  // namespace safelaunch::run
