#include <chrono>
#include <cstdio>
#include <thread>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"
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
    const std::string text = "\x1b[H\x1b[2J" + render_all(running_runs());
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    std::this_thread::sleep_for(kRefresh);
  }
}

}  // namespace

int verb_status(std::span<const std::string> words) {
  bool json = false;
  bool watching = false;
  for (const std::string& word : words) {
    if (word == "--json") {
      json = true;
    } else if (word == "--watch") {
      watching = true;
    } else {
      std::fprintf(stderr, "safelaunch: status takes --watch and --json, not '%s'\n", word.c_str());
      return exit_code_of(Errc::usage);
    }
  }
  if (watching) watch();
  const std::vector<RunStatus> runs = running_runs();
  const std::string text = json ? status_json(runs) : render_all(runs);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace safelaunch
