#pragma once

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "safelaunch/watch/stages.h"

namespace safelaunch::testing {

/// A job told second by second, as the runner would drive it: events are handed in when they
/// happen, and while the machine wants samples every live rank is sampled once a second, then
/// ticked.
class Story {
 public:
  explicit Story(watch::StagesConfig config = {}) : stages_(std::move(config)) {}

  static ProcessId process(int rank) { return {1000 + rank, 7}; }

  // The events.
  void started(int rank, int world, Source source = Source::hook) {
    tell(RankStarted{Rank{rank}, process(rank), world, source});
  }
  void entered(int rank, Stage stage, int world, const std::string& detail = {}) {
    tell(StageEntered{Rank{rank}, process(rank), stage, detail, world, Source::hook});
  }
  void reached(int rank, Stage stage, Source source = Source::hook) {
    tell(StageReached{Rank{rank}, process(rank), stage, source});
  }
  void exited(int rank, std::optional<ExitStatus> status) {
    tell(RankExited{Rank{rank}, process(rank), status});
  }
  void raised(int rank, const std::string& type, const std::string& message) {
    tell(RankRaised{Rank{rank}, process(rank), type, message, "Traceback"});
  }
  void server_is_up() { take(stages_.server_is_up(now_)); }
  void tell(const Event& event) { take(stages_.on(event, now_)); }

  /// From now on the rank does this.
  void does(int rank, Activity activity, const std::string& doing = {}) {
    activities_[Rank{rank}] = {Rank{rank}, process(rank), activity, doing};
  }

  /// From now on the rank waits for what another process of the host is to write.
  void awaits_another(int rank) {
    does(rank, Activity::idling, "waiting for something from outside");
    activities_[Rank{rank}].awaits_local = true;
  }
  void helpers_do(Activity activity) { helpers_ = activity; }

  /// From now on the processes that are no rank's do this.
  void others_do(Activity activity, const std::string& doing = {},
                 watch::Nameless nameless = watch::Nameless::is_left) {
    others_ = {{activity, doing}};
    nameless_ = nameless;
  }

  /// Time passes, in the steps that the machine asks for; it stops at a verdict.
  void pass(Duration duration) {
    const TimePoint end = now_ + duration;
    while (!verdict()) {
      const auto due = stages_.next_deadline();
      if (!due || *due > end) break;
      now_ = std::max(now_, *due);
      look();
    }
    if (!verdict()) now_ = end;
  }

  /// We ourselves are stopped: nobody looks for so long.
  void sleep(Duration duration) { now_ += duration; }

  /// The runner's part when its timer is due: samples, then a tick.
  void look() {
    ++looks_;
    for (const Rank rank : stages_.sample_these())
      if (const auto found = activities_.find(rank); found != activities_.end())
        tell(found->second);
    if (others_ && stages_.misses_unseen())
      stages_.others_do(others_->first, others_->second, nameless_, now_);
    if (helpers_ && stages_.misses_helped(now_)) stages_.helpers_do(*helpers_, "", now_);
    take(stages_.tick(now_));
  }

  [[nodiscard]] const std::optional<Failure>& verdict() const { return stages_.verdict(); }
  [[nodiscard]] std::vector<int> suspects() const {
    std::vector<int> result;
    if (verdict())
      for (const MissingRank& one : verdict()->missing) result.push_back(one.rank.value);
    return result;
  }
  [[nodiscard]] std::vector<int> waiting() const {
    std::vector<int> result;
    if (verdict())
      for (const Rank rank : verdict()->waiting) result.push_back(rank.value);
    return result;
  }
  [[nodiscard]] std::string words() const { return verdict() ? describe(*verdict()) : ""; }
  [[nodiscard]] Duration at() const { return std::chrono::duration_cast<Duration>(now_ - kStart); }
  [[nodiscard]] int looks() const { return looks_; }
  [[nodiscard]] int trainings() const { return trainings_; }
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
  [[nodiscard]] std::string status() const { return stages_.status_line(now_); }
  [[nodiscard]] const watch::Stages& stages() const { return stages_; }

 private:
  void take(const std::vector<watch::StageAction>& actions) {
    for (const watch::StageAction& action : actions) {
      if (std::holds_alternative<watch::JobTraining>(action)) ++trainings_;
      if (const auto* changed = std::get_if<watch::StatusChanged>(&action))
        lines_.push_back(changed->text);
    }
  }

  static constexpr TimePoint kStart{std::chrono::hours(100)};
  watch::Stages stages_;
  TimePoint now_ = kStart;
  std::map<Rank, RankActivity> activities_;
  std::optional<std::pair<Activity, std::string>> others_;
  watch::Nameless nameless_ = watch::Nameless::is_left;
  std::optional<Activity> helpers_;
  std::vector<std::string> lines_;
  int looks_ = 0;
  int trainings_ = 0;
};

/// Ranks 0 … world-1 that have imported torch.
inline void everybody_imports(Story& story, int world) {
  for (int rank = 0; rank < world; ++rank) {
    story.started(rank, world);
    story.reached(rank, Stage::imported);
  }
}

/// The news of a rank of a gloo job that calls init_process_group under torchrun, up to where it
/// blocks: the agent's store is there at once.
inline void calls_init(Story& story, int rank, int world) {
  story.entered(rank, Stage::group, world);
  story.entered(rank, Stage::rendezvous, world, "127.0.0.1:29500");
  story.reached(rank, Stage::rendezvous);
}

/// Four ranks, all through init, none in a collective.
inline Story four_with_a_group() {
  Story story;
  everybody_imports(story, 4);
  for (int rank = 0; rank < 4; ++rank) calls_init(story, rank, 4);
  for (int rank = 0; rank < 4; ++rank) story.reached(rank, Stage::group);
  return story;
}

/// Ranks 0, 1 and 3 of four wait in init_process_group; rank 2 has imported torch and no more.
inline Story rank_2_is_missing(watch::StagesConfig config = {}) {
  Story story(std::move(config));
  everybody_imports(story, 4);
  for (const int rank : {0, 1, 3}) {
    calls_init(story, rank, 4);
    story.does(rank, Activity::quiet);
  }
  return story;
}

}  // namespace safelaunch::testing
