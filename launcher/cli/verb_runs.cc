#include <array>

#include "answer.h"
#include "recorded_runs.h"
#include "verbs.h"

namespace safelaunch::cli {

namespace {

struct RunsWords {
  bool json = false;
};

constexpr std::array kRunsOptions{
    settings::Option{
        .name = "json", .put = settings::put_into<&RunsWords::json>, .help = "as JSON"},
};

int list_runs(std::span<const std::string> words) {
  RunsWords given;
  std::vector<std::string> rest;
  if (const auto status = settle(kRunsVerb, words, &given, rest)) return *status;
  if (!rest.empty()) return refuse({Errc::usage, "runs takes no '" + rest.front() + "'"});
  std::vector<report::RunLine> lines;
  for (const report::KnownRun& run : report::known_runs(places_of_runs()))
    lines.push_back(line_of(run));
  return answer(given.json ? report::runs_json(lines) : report::render(lines));
}

}  // namespace

const Verb kRunsVerb{
    .name = "runs",
    .function = list_runs,
    .help = "the recorded runs, and how each ended",
    .usage = "[OPTIONS]",
    .purpose =
        "The recorded runs, the newest last: when each began, how long it took, how it ended. Any "
        "part of an id that no other has names the run: `safelaunch report a1b2c3`.",
    .options = kRunsOptions};

}  // namespace safelaunch::cli
