#include "safelaunch/launch/tree_stopper.h"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "proc_files.h"
#include "safelaunch/launch/process_tree.h"

namespace safelaunch {
namespace {

std::vector<Survivor> survivors() {
  std::array<Descendant, 64> alive;
  const std::size_t count = living_descendants(alive);
  std::vector<Survivor> result;
  for (const Descendant& process : std::span(alive).first(count))
    result.push_back({process.pid, proc::state_of(process.pid)});
  return result;
}

}  // namespace

struct TreeStopper::Performance : std::enable_shared_from_this<Performance> {
  Performance(boost::asio::io_context& context, Reaper& children, AskMainWith ask, OnDone done)
      : reaper(children), ask_main(std::move(ask)), on_done(std::move(done)), timer(context) {}

  void take(const StopEvent& event) {
    for (const StopAction& action : sequence.on(event, Clock::now()))
      std::visit([this](const auto& what) { perform(what); }, action);
    set_timer();
  }

  void perform(const AskMain& ask) { ask_main(ask.signal); }
  void perform(const SignalTree& all) {
    const bool met_somebody = signal_descendants(all.signal) > 0;
    if (all.signal != SIGKILL) return;
    // Zombies that only a debugger may reap would otherwise keep us from the end.
    walks_in_vain = met_somebody ? 0 : walks_in_vain + 1;
    if (walks_in_vain == kWalksThatProve) take(TreeEmpty{});
  }
  void perform(StopDone) {
    reaper.when_childless(nullptr);
    const auto alive = survivors();
    boost::asio::post(timer.get_executor(), [self = shared_from_this(), alive] {
      if (self->on_done) self->on_done(alive);
    });
  }

  void set_timer() {
    const auto deadline = sequence.deadline();
    if (!deadline) return void(timer.cancel());
    timer.expires_at(*deadline);
    timer.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (self && !error) self->take(TimePassed{});
    });
  }

  void watch_tree() {
    reaper.when_childless([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->take(TreeEmpty{});
    });
  }

  Reaper& reaper;
  AskMainWith ask_main;
  OnDone on_done;
  boost::asio::steady_timer timer;
  StopSequence sequence;
  int walks_in_vain = 0;
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

}  // namespace safelaunch
