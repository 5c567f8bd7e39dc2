#pragma once

#include <array>
#include <csignal>
#include <functional>

#include "catch.h"
#include "launcher/run/attempt_machine.h"

#include "machine_story.h"

namespace safelaunch::run {
using namespace ranks;

using namespace std::chrono_literals;

inline Failure hung() {
  Failure verdict{.kind = FailureKind::hung, .stage = Stage::group};
  verdict.waiting = {Rank{0}};
  verdict.missing = {{.rank = Rank{1}}};
  return verdict;
}

inline Failure died(ExitStatus status = Exited{1}) {
  Failure verdict{.kind = FailureKind::rank_died, .stage = Stage::group};
  verdict.missing = {{.rank = Rank{1}, .status = status}};
  return verdict;
}

inline RankAnswers rank_1_is_in(const std::string& where) {
  RankAnswers answers;
  answers.stacks[Rank{1}].where = where;
  return answers;
}

/// An attempt whose processes, watch and output exist in words only: what it would do is gathered.
class AttemptStory : public testing::Deeds<AttemptAction> {
 public:
  explicit AttemptStory(AttemptRules rules = {.launcher = job::Launcher::torchrun,
                                              .grace = {.of_ranks = 30s, .in_all = 35s}})
      : machine_(rules) {}

  void on(const AttemptEvent& event) {
    for (AttemptAction& action : machine_.on(event, now_)) done_.push_back(std::move(action));
  }
  void signal(int number) { on(SignalCame{number, launch::SignalOrigin::terminal, {}}); }
  void ranks_answer(const RankAnswers& answers = {}) { on(RanksAnswered{answers}); }
  /// Time passes, and the machine is woken when it asked to be.
  void pass(Duration time) {
    now_ += time;
    if (machine_.deadline() && *machine_.deadline() <= now_) on(AttemptTimePassed{});
  }

  [[nodiscard]] launch::StopWanted last_stop() const {
    REQUIRE(did<StopJob>());
    return all<StopJob>().back().wanted;
  }
  [[nodiscard]] bool removes_segments() const {
    const auto taken = all<TakeSegments>();
    REQUIRE(taken.size() == 1);
    return taken.front().remove_later;
  }
  [[nodiscard]] std::string said() const {
    std::string text;
    for (const TellUser& one : all<TellUser>()) text += one.text + "\n";
    return text;
  }
  [[nodiscard]] const AttemptOutcome& outcome() const { return machine_.outcome(); }

  // Ways into each state.
  void hang_with_a_person_waiting() {
    on(SignalCame{SIGINT, launch::SignalOrigin::terminal, hung()});
  }
  void be_asked() { on(VerdictFell{hung()}); }
  void be_stopped() { on(WayWanted{}); }
  void end_processes(bool output_drained = false) { on(TreeGone{output_drained}); }

 private:
  AttemptMachine machine_;
  TimePoint now_{};
};

inline AttemptRules own_spawn() {
  return {.own_spawn = true, .grace = {.of_ranks = 30s, .in_all = 30s}};
}

inline WorkerEnded rank_ended(int rank, ExitStatus status) {
  return {.rank = Rank{rank}, .status = status, .others_run = true};
}

}  // namespace safelaunch::run
