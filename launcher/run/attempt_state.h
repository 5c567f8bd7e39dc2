#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/host/owner_mark.h"
#include "safelaunch/output/terminal_writer.h"
#include "safelaunch/report/event_log.h"
#include "safelaunch/run/attempt.h"
#include "safelaunch/run/left_segments.h"
#include "safelaunch/run/ras_question.h"

namespace safelaunch {

/// An attempt from its start (attempt.cc) to its end (attempt_end.cc).
struct Attempt::State {
  enum class Phase { running, asking, stopping, draining, over };

  State(const Services& given, AttemptSpec settled, Attempt::Observer call)
      : services(given),
        spec(std::move(settled)),
        caller(std::move(call)),
        began(Clock::now()),
        timer(given.io),
        output(given.io, given.terminal, spec.output, output_observer()),
        workers(given.reaper, output, workers_observer()),
        watch(given,
              {spec.stages, spec.start, spec.stall, spec.hook, spec.nccl,
               spec.workers.front().environment, spec.clean},
              watch_observer()),
        stopper(
            given.io, given.reaper, [this](int signal) { workers.send(signal, asked_by); },
            [this](const std::vector<Survivor>& survivors) { on_tree_gone(survivors); }) {}

  [[nodiscard]] bool own_spawn() const { return spec.workers.front().rank.has_value(); }

  [[nodiscard]] Duration age() const {
    return std::chrono::duration_cast<Duration>(Clock::now() - began);
  }

  [[nodiscard]] std::string titled(const std::string& line) const {
    return fmt::format("attempt {} {} · {}", spec.number, spec.profile, line);
  }
  /// Of the job's processes.
  [[nodiscard]] std::string mark() const {
    return std::string(value_or(spec.workers.front().environment, kOwnerVariable));
  }
  void tell(const std::string& line) const {
    services.terminal.write_message("safelaunch: " + titled(line));
  }

  OutputObserver output_observer();
  Workers::Observer workers_observer();
  RankWatch::Observer watch_observer();

  Result<void> start();
  void on_worker_exit(std::optional<Rank> rank, ProcessId process, const ExitStatus& status);
  void on_all_ended();
  void on_verdict(const Verdict& verdict);
  void on_training();
  void on_stall(const StallReport& report);
  void on_stall_answers(const StallReport& report);
  void record_verdict(const Verdict& verdict);
  void on_recording_stopped(const RecordingLoss& loss);
  void ask_then_stop();
  [[nodiscard]] bool ras_may_be_asked() const;
  void hear_ras(const std::string& answer);
  void on_answers();
  void answered();
  void stop_hung();
  void give_way();
  [[nodiscard]] bool may_be_followed() const;
  void note_segments();
  void take_segments();
  void stop(const StopWanted& wanted);
  void on_tree_gone(const std::vector<Survivor>& survivors);
  void on_drained();
  void keep_tails();
  void finish_record();
  void signal(const ReceivedSignal& received);
  void explain_then_stop(const ReceivedSignal& received, const Verdict& waiting);
  void stop_as_told();
  void say_if_it_takes_long();

  Services services;
  AttemptSpec spec;
  Attempt::Observer caller;
  TimePoint began;
  Phase phase = Phase::running;
  AttemptRecord record;
  SignalOrigin asked_by = SignalOrigin::user;
  boost::asio::steady_timer timer;
  std::optional<RasQuestion> ras;
  std::optional<StopWanted> told;  // by a first signal, while the ranks are asked where they are
  int unanswered = 0;              // questions, while asking
  std::vector<LeftFile> segments;  // of its own, to be removed once it has been stopped
  JobOutput output;
  Workers workers;
  RankWatch watch;
  TreeStopper stopper;
};

}  // namespace safelaunch
