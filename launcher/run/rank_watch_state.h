#pragma once

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <set>

#include "driver_watch.h"
#include "rank_bounds.h"
#include "safelaunch/launch/exit_watch.h"
#include "safelaunch/run/rank_watch.h"
#include "safelaunch/watch/activity_sampler.h"
#include "safelaunch/watch/hook_channel.h"
#include "safelaunch/watch/observer.h"
#include "stall_watch.h"
#include "standstill_watch.h"

namespace safelaunch::run {

/// What is known while ranks are watched, and what changes it: rank_news.cc has what comes from
/// outside, rank_watch.cc what follows and when to look.
struct RankWatch::State {
  /// Ranks that no hook speaks for are looked for in /proc.
  static constexpr Duration kLookEvery{1'000};

  State(const Services& given, RankWatchConfig settled, Listener& listener)
      : services(given),
        config(std::move(settled)),
        caller(listener),
        stages(config.stages),
        looker(table, sockets),
        sampler(table),
        timer(given.io),
        inquiry(given.io),
        stall(given.io, config.stall,
              [this](const watch::StallReport& report) { caller.on_stall(report); }),
        nccl(given.io, config.nccl, nccl_observer()),
        driver(given, driver_limits(), driver_is_silent()),
        standstill(given.io, {config.stages.limits.init, config.start}, all_stand_still()),
        places(given.io) {}

  void open_channel();
  NcclWatch::Observer nccl_observer();
  [[nodiscard]] DriverWatch::Limits driver_limits() const;
  DriverWatch::OnSilent driver_is_silent();
  StandstillWatch::OnStill all_stand_still();
  void tell_standstill(const watch::StoodStill& still, const std::map<Rank, std::string>& doings,
                       const RankAnswers& answers);
  void feed(const Event& event);
  void forget_former_life(const RankStarted& started);
  void record_stage(const StageReached& reached);
  void act_on(const std::vector<watch::StageAction>& actions);
  void perform(const Failure& verdict);
  void perform(const watch::StatusChanged& status);
  void perform(const watch::JobTraining& training);
  void hear(ProcessId process, const watch::HookMessage& message);
  void note_what_it_names(const Event& event);
  void note_finished(ProcessId process, const watch::HookMessage& message);
  void tell_flood(ProcessId process);
  void tell(const std::string& text);
  void tell_of_another_user(const RankStarted& started);
  void hear_body(ProcessId process, const watch::HookMessage& message);
  [[nodiscard]] bool is_a_ranks_child(Rank rank, ProcessId process) const;
  void find_wrapper(RankStarted& started, const watch::HookMessage& message) const;
  void watch_exit(Rank rank, ProcessId process);
  void note_silence();
  void look_again();
  void on_exit(Rank as_started, ProcessId process, std::optional<ExitStatus> status);
  void on_late_exit(Rank rank, ProcessId process, std::optional<ExitStatus> status);
  [[nodiscard]] bool is_rank(Rank rank, ProcessId process) const;
  [[nodiscard]] bool all_ranks_have_gone() const;
  void look_for_ranks(TimePoint now);
  void sample(TimePoint now);
  void sample_others(TimePoint now);
  void ask_whether_it_hears(ProcessId process, TimePoint now);
  void tick();
  void rearm();
  [[nodiscard]] bool judging() const { return !frozen && !stages.verdict() && !stages.training(); }
  void show_waiting(TimePoint now);

  Services services;
  RankWatchConfig config;
  Listener& caller;
  watch::Stages stages;
  host::Procfs table;
  host::KernelSockets sockets;
  safelaunch::watch::Observer ranks_in_proc;
  watch::ProcessObserver looker;
  watch::ActivitySampler sampler;
  boost::asio::steady_timer timer;
  RankInquiry inquiry;
  StallWatch stall;
  NcclWatch nccl;
  DriverWatch driver;
  StandstillWatch standstill;
  RankInquiry places;  // where all stand, though there is no verdict
  std::unique_ptr<watch::HookChannel> channel;
  std::map<ProcessId, Rank> hooked;
  NamedRanks named;
  std::map<ProcessId, Rank> plugged;        // by NCCL's plugin
  std::map<ProcessId, TimePoint> asked_at;  // whether their hook still hears
  std::set<ProcessId> failing;              // of an exception that nobody caught
  std::set<ProcessId> in_torch;             // whose hook has seen them call it
  std::map<ProcessId, int> parents;         // of those that have spoken, as they told it
  std::set<ProcessId> silent;               // whose hook's connection is closed: it may have ended
  std::set<ProcessId> spawned;
  std::map<ProcessId, launch::ExitWatch> exits;
  std::vector<ProcessId> told_exits;  // whose watch has done its part, and holds a descriptor
  std::set<ProcessId> ended_late;     // while the job was stopped
  RanksSeen seen;
  bool frozen = false;
  bool flood_told = false;
  bool another_user_told = false;
  TimePoint begun{};
  std::optional<TimePoint> next_look;
  std::optional<TimePoint> waiting_since;
  TimePoint noticed_at{};
};

}  // namespace safelaunch::run
