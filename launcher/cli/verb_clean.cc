#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/result.h"
#include "safelaunch/clean/kill.h"
#include "safelaunch/clean/survey.h"
#include "safelaunch/cli/answer.h"
#include "safelaunch/cli/verb_options.h"
#include "safelaunch/cli/verbs.h"
#include "safelaunch/gpu/gpu_reader.h"
#include "safelaunch/gpu/memory_holders.h"

namespace safelaunch {
namespace {

struct CleanWords {
  std::string policy = "ours";
  bool dry_run = false;
  bool json = false;
};

VerbOptions clean_verb(CleanWords& words) {
  VerbOptions verb("clean", "[OPTIONS]",
                   "What earlier runs have left behind, why it is thought so, and what is done "
                   "with it: ended, where it is\nprovably ours, otherwise left alone.");
  verb.choice("--policy", words.policy, {"off", "ours", "orphans"}, "what may be ended (ours)");
  verb.flag("--dry-run", words.dry_run, "say it and do nothing");
  verb.flag("--json", words.json, "as JSON");
  return verb;
}

CleanPolicy policy_of(std::string_view word) {
  if (word == "off") return CleanPolicy::off;
  return word == "orphans" ? CleanPolicy::orphans : CleanPolicy::ours;
}

struct Line {
  StaleProcess process;
  std::string done;  ///< what was, or would be, done with it
};

/// The memory of GPUs too is worth a word, where a driver tells who holds it.
GpuFacts gpu_facts() {
  GpuFacts facts = read_gpu_facts({current_environment()});
  if (facts.trouble != GpuTrouble::none && facts.trouble != GpuTrouble::no_driver)
    log_warning("whose GPU memory is in use is not known: " + facts.why);
  return facts;
}

/// Who holds memory and is not to be found among the processes: NVML may name the host's pids in a
/// container, or nobody.
void tell_of_hidden_holders(const GpuFacts& facts) {
  for (const MemoryHolding& held : memory_holdings(facts))
    if (!facts_of(held.pid))
      log_warning(fmt::format("pid {} holds {} and is not visible here", held.pid, held.what));
  for (const std::string& memory : memory_without_holder(facts))
    log_warning(memory + " are in use by processes that are not visible here");
}

Needs all_that_is_held(const GpuFacts& facts) {
  Needs needs;
  for (MemoryHolding& held : memory_holdings(facts))
    needs.held.push_back({held.pid, std::move(held.what)});
  return needs;
}

std::vector<Line> clean(const CleanWords& words) {
  const GpuFacts facts = gpu_facts();
  tell_of_hidden_holders(facts);
  std::vector<Line> lines;
  std::vector<ProcessId> to_end;
  std::vector<std::size_t> places;
  for (StaleProcess& stale : survey(all_that_is_held(facts), read_surroundings())) {
    const bool act = acts_on(policy_of(words.policy), stale.claim);
    if (act) {
      to_end.push_back(stale.process.id);
      places.push_back(lines.size());
    }
    lines.push_back({std::move(stale), act ? "would be ended" : "left alone"});
  }
  if (words.dry_run) return lines;
  const std::vector<EndedProcess> ended = end_processes(to_end);
  for (std::size_t i = 0; i < ended.size(); ++i) lines[places[i]].done = name(ended[i].result);
  return lines;
}

void print(const std::vector<Line>& lines) {
  for (const Line& line : lines)
    std::printf("%s: %s\n", line.done.c_str(), describe(line.process).c_str());
  if (lines.empty()) std::puts("nothing is stale");
}

void print_json(const std::vector<Line>& lines) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Line& line : lines)
    json.push_back({{"pid", line.process.process.id.pid},
                    {"command", line.process.command},
                    {"why", line.process.why},
                    {"holds", line.process.holds},
                    {"done", line.done}});
  std::puts(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

}  // namespace

int verb_clean(std::span<const std::string> words) {
  CleanWords given;
  std::vector<std::string> rest;
  if (const auto status = clean_verb(given).settle(words, rest)) return *status;
  if (!rest.empty()) return refuse({Errc::usage, "clean takes no '" + rest.front() + "'"});
  const std::vector<Line> lines = clean(given);
  given.json ? print_json(lines) : print(lines);
  return 0;
}

}  // namespace safelaunch
