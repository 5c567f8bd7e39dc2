#pragma once

#include <algorithm>
#include <functional>

#include "catch.h"
#include "safelaunch/ranks/rank_machine.h"

#include "machine_story.h"

namespace safelaunch::ranks {

using namespace std::chrono_literals;

inline ProcessId process_of(int rank) {
  return {100 + rank, 7};
}

inline watch::HookMessage message_of(int rank, Event event) {
  watch::HookMessage message;
  message.rank = Rank{rank};
  message.events = {std::move(event)};
  return message;
}

/// A job whose ranks, hooks and processes exist in words only. Looks are answered with what the
/// test has said that there is to see; all else that the machine wants done is gathered.
class RankStory : public testing::Deeds<WatchAction> {
 public:
  explicit RankStory(RankRules rules = {.stages = {.world_size = 2}, .hook = true})
      : machine_(std::move(rules)) {
    on(WatchBegins{});
  }

  void on(const WatchEvent& event) {
    for (WatchAction& action : machine_.on(event, now)) {
      done_.push_back(action);
      if (std::holds_alternative<TakeLook>(action)) on(seen_by_a_look);
      if (const auto* ask = std::get_if<SampleRanks>(&action)) answer(*ask);
      if (std::holds_alternative<SampleOthers>(action)) on(OthersSampled{});
    }
  }
  /// Time passes, and the machine is woken whenever it asked to be.
  void pass(Duration time) {
    const TimePoint end = now + time;
    while (machine_.deadline() && *machine_.deadline() <= end) {
      now = std::max(now, *machine_.deadline());
      on(WatchTimePassed{});
    }
    now = end;
  }

  // The words of hooks, each in the process of its rank unless another is named.
  void says(int rank, const Event& event) { says(process_of(rank), rank, event); }
  void says(ProcessId process, int rank, const Event& event) {
    on(HookSpoke{process, message_of(rank, event)});
  }
  void body(int rank, const std::string& name, const decltype(watch::HookMessage::body)& body) {
    watch::HookMessage message;
    message.name = name;
    message.rank = Rank{rank};
    message.body = body;
    on(HookSpoke{process_of(rank), message});
  }
  void starts(int rank) { says(rank, RankStarted{Rank{rank}, process_of(rank), 2, Source::hook}); }
  void waits(int rank, Stage stage, const std::string& detail = {}) {
    says(rank, StageEntered{Rank{rank}, process_of(rank), stage, detail, 2});
  }
  void reaches(int rank, Stage stage) {
    says(rank, StageReached{Rank{rank}, process_of(rank), stage});
  }
  void ends(int rank, ExitStatus status = Exited{0}) {
    on(ProcessEnded{Rank{rank}, process_of(rank), status});
  }
  /// Rank 0 waits for a rank 1 that sleeps.
  void hang() {
    starts(0);
    starts(1);
    waits(0, Stage::group, "nccl");
    does[1] = Activity::idling;
  }

  [[nodiscard]] std::vector<std::string> notices() const {
    std::vector<std::string> texts;
    for (const TellNotice& one : all<TellNotice>()) texts.push_back(one.text);
    return texts;
  }
  template <class Event>
  [[nodiscard]] int recorded() const {
    int count = 0;
    for (const RecordEvent& one : all<RecordEvent>())
      count += std::holds_alternative<Event>(one.event) ? 1 : 0;
    return count;
  }
  [[nodiscard]] const RankMachine& machine() const { return machine_; }
  [[nodiscard]] const RanksSeen& seen() const { return machine_.seen(); }

  TimePoint now{1h};
  LookTaken seen_by_a_look;
  std::map<int, Activity> does;
  std::map<int, std::string> doings;

 private:
  void answer(const SampleRanks& ask) {
    RanksSampled found;
    for (const auto& [rank, process] : ask.ranks)
      if (does.contains(rank.value))
        found.activities.push_back({rank, process, does[rank.value], doings[rank.value]});
    on(found);
  }

  RankMachine machine_;
};

inline watch::SeenProcess rank_in_proc(int rank) {
  return {.id = process_of(rank), .parent = 1, .rank = Rank{rank}, .world_size = 2};
}

const AllStandStill kStandstill{{600s, watch::StoodStill::Then::ends_the_job},
                                {{Rank{0}, "in a lock"}}};

}  // namespace safelaunch::ranks
