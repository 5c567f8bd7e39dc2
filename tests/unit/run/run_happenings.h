#pragma once

#include "run_story.h"

namespace safelaunch::run {

using HappensToRun = std::function<void(RunStory&)>;

inline agree::Decision go_of(int attempt, const std::string& profile) {
  agree::Decision go;
  go.order = agree::Order::go;
  go.attempt = attempt;
  go.profile = profile;
  return go;
}

static_assert(std::variant_size_v<RunEvent> == 19, "a new event needs a line in run_happenings()");

/// Everything that may happen to a run, with a name: the lines of the tables.
inline std::vector<std::pair<std::string, HappensToRun>> run_happenings() {
  const auto event = [](const RunEvent& one) -> HappensToRun {
    return [one](RunStory& run) { run.on(one); };
  };
  const auto signal = [](int number, int times = 1) -> HappensToRun {
    return [number, times](RunStory& run) {
      for (int i = 0; i < times; ++i) run.signal(number);
    };
  };
  const auto ends = [](AttemptRecord (*record)()) -> HappensToRun {
    return [record](RunStory& run) { run.ends_with(record()); };
  };
  const Finding no_torch{"python-missing", Severity::blocks, "no torch", "install it"};
  return {
      {"begins", event(RunBegins{})},
      {"host checked", event(HostChecked{})},
      {"host is blocked", event(HostChecked{{.lines = {}, .findings = {no_torch}, .trouble = ""}})},
      {"started", event(AttemptStarted{})},
      {"not started", event(AttemptNotStarted{{Errc::blocked, "no port"}})},
      {"ended here, others run",
       [](RunStory& run) {
         const AttemptRecord record = went_well_record();
         run.on(AttemptEnded{run.ended(record, make_evidence(record, {})), true});
       }},
      {"ended well", ends(went_well_record)},
      {"failed", ends(script_failed)},
      {"over everywhere",
       [](RunStory& run) {
         const AttemptRecord record = went_well_record();
         run.on(OverEverywhere{run.ended(record, make_evidence(record, {}))});
       }},
      {"ended by nodes",
       [](RunStory& run) {
         const AttemptRecord record = went_well_record();
         run.on(EndedByNodes{record, 69, "gpu-1 is gone"});
       }},
      {"switch found", event(SwitchFound{})},
      {"profile chosen", event(ProfileChosen{"no-shm", {"conservative"}})},
      {"none chosen", event(ProfileChosen{})},
      {"memory back", event(MemoryBack{})},
      {"pause over too early", event(PauseOver{})},
      {"pause over",
       [](RunStory& run) {
         run.pass(1h);
         run.on(PauseOver{});
       }},
      {"leads", event(LeadsNodes{})},
      {"nodes ready", event(NodesReady{{"a line"}, {}, {}})},
      {"a node is blocked", event(NodesReady{{}, "gpu-1 is blocked", {}})},
      {"attempt agreed", event(AttemptAgreed{go_of(1, "basic")})},
      {"another profile agreed", event(AttemptAgreed{go_of(3, "no-shm")})},
      {"unknown profile agreed", event(AttemptAgreed{go_of(1, "our-own")})},
      {"none to agree with", event(AgreedOnNone{"no other came"})},
      {"refused", event(NodesRefused{{Errc::bad_config, "the token"}})},
      {"end agreed", event(EndAgreed{0, ""})},
      {"end agreed with a reason", event(EndAgreed{69, "gpu-1 is gone"})},
      {"INT", signal(SIGINT)},
      {"INT twice", signal(SIGINT, 2)},
      {"INT that the ranks have",
       [](RunStory& run) {
         run.on(SignalPassedOn{});
         run.signal(SIGINT);
       }},
      {"TERM", signal(SIGTERM)},
      {"USR1", signal(SIGUSR1)},
  };
}

}  // namespace safelaunch::run
