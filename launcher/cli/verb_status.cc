#include <chrono>
#include <thread>

#include "safelaunch/base/environment.h"
#include "safelaunch/cli/answer.h"
#include "safelaunch/cli/verb_options.h"
#include "safelaunch/cli/verbs.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/report/run_directory.h"
#include "safelaunch/report/status.h"

namespace safelaunch {
namespace {

// People look at a screen; a second is soon enough.
constexpr std::chrono::seconds kRefresh{1};

std::vector<RunStatus> running_runs() {
  const std::string boot_id = read_boot_id();
  std::vector<RunStatus> result;
  for (RunStatus& run : read_runs(runs_directory(current_environment())))
    if (!run.ended && run.boot_id == boot_id && is_running(run.process))
      result.push_back(std::move(run));
  return result;
}

std::string render_all(const std::vector<RunStatus>& runs) {
  if (runs.empty()) return "no job of yours runs under safelaunch\n";
  std::string text;
  for (const RunStatus& run : runs) text += render(run);
  return text;
}

[[noreturn]] void watch() {
  for (;;) {
    answer("\x1b[H\x1b[2J" + render_all(running_runs()));
    std::this_thread::sleep_for(kRefresh);
  }
}

}  // namespace

int verb_status(std::span<const std::string> words) {
  bool json = false;
  bool watching = false;
  VerbOptions verb("status", "[OPTIONS]", "Your running jobs, and how far each rank has come.");
  verb.flag("--watch", watching, "show it anew every second");
  verb.flag("--json", json, "as JSON");
  std::vector<std::string> rest;
  if (const auto status = verb.settle(words, rest)) return *status;
  if (!rest.empty()) return refuse({Errc::usage, "status takes no '" + rest.front() + "'"});
  if (watching) watch();
  const std::vector<RunStatus> runs = running_runs();
  return answer(json ? status_json(runs) : render_all(runs));
}

}  // namespace safelaunch
