#include "safelaunch/launch/tree_stopper.h"

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <csignal>
#include <utility>

#include "pipe_readers.h"
#include "safelaunch/base/alarm.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/launch/descendants.h"

// A StopSequence decides, and its walks are performed here. The stop is over when the kernel says
// that there is no child left; where that never comes, since a process is spared or belongs to
// another user, the tree is looked at until nothing else is met.
namespace safelaunch::launch {
namespace {

/// The pauses between looks. Where processes are left that we must not end, the kernel does not
/// tell us when all others are gone, so we have to look.
constexpr Duration kLookEvery{50};
constexpr Duration kProveEvery{1};

std::vector<Survivor> survivors() {
  if (!has_children()) return {};
  std::array<Descendant, 64> alive;
  const std::size_t count = living_descendants(alive);
  std::vector<Survivor> result;
  for (const Descendant& process : std::span(alive).first(std::min(count, alive.size())))
    result.push_back({process.pid, host::state_of(process.pid), !may_signal(process.pid)});
  return result;
}

}  // namespace

struct TreeStopper::Performance : std::enable_shared_from_this<Performance> {
  Performance(boost::asio::io_context& context, Reaper& children, AskMainWith ask, OnDone done)
      : io(context),
        reaper(children),
        ask_main(std::move(ask)),
        on_done(std::move(done)),
        timer(context),
        look(context) {}

  void take(const StopEvent& event) {
    for (const StopAction& action : sequence.on(event, Clock::now()))
      std::visit([this](const auto& what) { perform(what); }, action);
    set_timer();
  }

  void perform(const AskMain& ask) { ask_main(ask.signal); }
  void perform(const SignalTree& all) {
    if (!has_children()) return take(TreeEmpty{});
    if (!host::proc_is_ours())
      return ask_main(all.signal);  // without /proc we know only the launcher
    if (all.signal == SIGKILL) moment.left = Duration::zero();
    spare_readers = all.spare_readers;
    std::vector<int> met_now;
    look_again(walk([&](ProcChildren& children, auto pass_over) {
      const auto on_asked = [&](const Descendant& found) { met_now.push_back(found.pid); };
      return ask_descendants(children, all.signal, moment, on_asked, pass_over);
    }));
    if (all.signal == SIGTERM && met.empty()) note(met_now);
  }

  /// Walks in a way that passes over the readers of the job's output.
  template <class Way>
  Met walk(Way way) {
    if (spare_readers) readers.look(Clock::now());
    ProcChildren children;
    return way(children, [&](int pid) { return spare_readers && readers.is_at_work(pid); });
  }

  Met look_around() {
    return walk([&](ProcChildren& children, auto pass_over) {
      return signal_descendants(
          children, [](int) { return 0; }, moment, [](const Descendant&) {}, pass_over);
    });
  }

  /// Notes the names of processes that were signalled. They are not reaped before we return, so the
  /// names can still be read.
  void note(const std::vector<int>& pids) {
    for (const int pid : pids)
      if (const auto facts = host::facts_of(pid))
        met.push_back({{pid, facts->comm}, facts->session == pid});
  }
  void perform(StopDone) {
    reaper.when_childless(nullptr);
    const auto alive = survivors();
    boost::asio::post(io, [self = shared_from_this(), alive] {
      if (self->on_done) self->on_done(alive);
    });
  }

  /// Looks again whether all are gone. Zombies that only a debugger may reap would keep us from the
  /// end, too.
  void look_again(const Met& met_by_walk) {
    walks_in_vain = met_by_walk.alive + met_by_walk.readers == 0 ? walks_in_vain + 1 : 0;
    if (walks_in_vain == kWalksThatProve) return take(TreeEmpty{});
    if (met_by_walk.readers > 0) (void)sequence.on(ReadersAtWork{}, Clock::now());
    if (walks_in_vain == 0 && met_by_walk.refused + met_by_walk.spared == 0) return;
    look.set_after(walks_in_vain > 0 ? kProveEvery : kLookEvery, [this] {
      if (sequence.deadline()) look_again(look_around());
    });
  }

  void set_timer() {
    const auto deadline = sequence.deadline();
    if (!deadline) return void(timer.cancel());
    timer.set(*deadline, [this] { take(TimePassed{}); });
  }

  void watch_tree() {
    reaper.when_childless([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->take(TreeEmpty{});
    });
  }

  boost::asio::io_context& io;
  Reaper& reaper;
  AskMainWith ask_main;
  OnDone on_done;
  Alarm timer;
  Alarm look;
  StopSequence sequence;
  PipeReaders readers;
  bool spare_readers = true;
  host::ExecMoment moment;
  int walks_in_vain = 0;
  struct MetBySweep {
    Swept process;
    bool was_ended = false;
  };
  std::vector<MetBySweep> met;
};

TreeStopper::TreeStopper(boost::asio::io_context& io, Reaper& reaper, AskMainWith ask_main,
                         OnDone on_done)
    : performance_(
          std::make_shared<Performance>(io, reaper, std::move(ask_main), std::move(on_done))) {}

TreeStopper::~TreeStopper() {
  performance_->on_done = nullptr;
}

void TreeStopper::stop(const StopWanted& wanted) {
  performance_->take(wanted);
  performance_->watch_tree();
}

void TreeStopper::main_ended(MainEnded ended) {
  performance_->take(ended);
}

void TreeStopper::ranks_gone() {
  performance_->take(RanksGone{});
}

void TreeStopper::orphan_ended(int pid, const ExitStatus& status) {
  if (!std::holds_alternative<Signaled>(status)) return;
  for (auto& one : performance_->met)
    if (one.process.pid == pid) one.was_ended = true;
}

std::vector<Swept> TreeStopper::swept() const {
  std::vector<Swept> ended;
  for (const auto& one : performance_->met)
    if (one.was_ended) ended.push_back(one.process);
  return ended;
}

}  // namespace safelaunch::launch
