#include "answer.h"
#include "recorded_runs.h"
#include "verb_options.h"
#include "verbs.h"

namespace safelaunch::cli {

int verb_runs(std::span<const std::string> words) {
  bool json = false;
  VerbOptions verb("runs", "[OPTIONS]",
                   "The recorded runs, the newest last: when each began, how long it took, how it "
                   "ended. Any part of\nan id that no other has names the run: `safelaunch report "
                   "a1b2c3`.");
  verb.flag("--json", json, "as JSON");
  std::vector<std::string> rest;
  if (const auto status = verb.settle(words, rest)) return *status;
  if (!rest.empty()) return refuse({Errc::usage, "runs takes no '" + rest.front() + "'"});
  std::vector<report::RunLine> lines;
  for (const report::KnownRun& run : report::known_runs(places_of_runs()))
    lines.push_back(line_of(run));
  return answer(json ? report::runs_json(lines) : report::render(lines));
}

}  // namespace safelaunch::cli
