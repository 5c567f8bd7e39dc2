#pragma once

#include <span>

#include "safelaunch/base/time.h"
#include "safelaunch/report/summary.h"
#include "safelaunch/trial/scene.h"

namespace safelaunch::trial {

/// A step that every rank has done.
struct DoneStep {
  std::string_view name;
  Duration took{};  ///< the time of the slowest rank
  bool operator==(const DoneStep&) const = default;
};

/// The files and the end of a run of a scene.
struct Traces {
  std::vector<std::string> ranks;             ///< the text of each rank's file of steps
  std::optional<report::RunSummary> outcome;  ///< none: the run never began
  std::string last_words;                     ///< how the run ended, for one that never began
  std::vector<std::string> notices{};         ///< the run's notices, such as a lock that it removed
};

/// The result of one scene.
struct Tried {
  Scene scene;
  std::vector<DoneStep> done;
  std::string stopped_at;  ///< the first step that not all ranks have done, or one that failed has
                           ///< not; empty: none
  std::string trouble;     ///< the error of the first rank that says one there
  std::string device;      ///< "cpu", "NVIDIA H100 80GB HBM3"
  std::string profile;     ///< the profile under which it ran last
  int attempts = 0;
  bool works = false;
  bool hung = false;
  bool blocked = false;  ///< a check of the host forbids the run, so no rank was started
  std::optional<Failure> failure{};    ///< the diagnosis of a run that did not complete
  std::vector<std::string> notices{};  ///< the run's notices
  std::string run;                     ///< the id of its run; empty where it never began
  std::vector<Tried> fewer{};  ///< where it failed: the same with fewer ranks, until one works
};

/// The result that the traces of a scene show.
[[nodiscard]] Tried judge(const Scene& scene, const Traces& traces);

/// The same scene with fewer ranks, in the order in which they are tried: those numbers that are
/// below its own. None where it works, or the ranks did not come to their devices.
[[nodiscard]] std::vector<Scene> with_fewer_ranks(const Tried& tried, std::span<const int> numbers);

/// The end of a whole trial.
struct Conclusion {
  std::string sentence;  ///< "gloo and JAX work on this host; no GPU is here"
  std::string use;       ///< the line to type; empty where nothing works
  int status = 0;
};

/// The host's own findings count too: `blocked` is true where one forbids a run.
[[nodiscard]] Conclusion conclude(std::span<const Tried> tried, bool blocked);

}  // namespace safelaunch::trial
