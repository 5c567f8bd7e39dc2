#include <algorithm>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/result.h"
#include "safelaunch/clean/removal.h"
#include "safelaunch/clean/survey.h"
#include "safelaunch/cli/answer.h"
#include "safelaunch/cli/verb_options.h"
#include "safelaunch/cli/verbs.h"
#include "safelaunch/gpu/gpu_reader.h"
#include "safelaunch/gpu/memory_holders.h"
#include "safelaunch/report/run_directory.h"

namespace safelaunch {
namespace {

using Json = nlohmann::ordered_json;

struct CleanWords {
  std::string policy = "ours";
  bool all_mine = false;
  bool dry_run = false;
  bool json = false;
};

VerbOptions clean_verb(CleanWords& words) {
  VerbOptions verb("clean", "[OPTIONS]",
                   "What earlier runs have left behind, why it is thought so, and what is done "
                   "with it: ended or removed,\nwhere it is provably ours, otherwise left alone.");
  verb.choice("--policy", words.policy, {"off", "ours", "orphans"},
              "what may be ended and removed (ours)");
  verb.flag("--all-mine", words.all_mine,
            "also remove segments of yours in /dev/shm that no run of safelaunch has recorded: "
            "another container's jobs may have made them");
  verb.exclude("--all-mine", "--policy");
  verb.flag("--dry-run", words.dry_run, "say it and do nothing");
  verb.flag("--json", words.json, "as JSON");
  return verb;
}

CleanPolicy policy_of(const CleanWords& words) {
  if (words.all_mine) return CleanPolicy::all_mine;
  if (words.policy == "off") return CleanPolicy::off;
  return words.policy == "orphans" ? CleanPolicy::orphans : CleanPolicy::ours;
}

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

// Long enough for a program that works to show it, short enough to be waited for.
constexpr Duration kWatch{2'000};

Needs all_that_is_held(const GpuFacts& facts) {
  Needs needs{.ports = {}, .inventory = true, .watch = kWatch};
  for (MemoryHolding& held : memory_holdings(facts))
    needs.held.push_back({held.pid, std::move(held.what)});
  return needs;
}

Leftovers find_leftovers() {
  const GpuFacts facts = gpu_facts();
  tell_of_hidden_holders(facts);
  const Surroundings us = read_surroundings();
  Leftovers left;
  left.processes = survey(all_that_is_held(facts), us);
  StaleFiles files =
      survey_files({read_shared_memory().files, extension_locks(extensions_folder(us.environment)),
                    places_of_runs(us.environment)},
                   us.host, read_mounts());
  for (auto* found : {&files.segments, &files.locks})
    std::ranges::move(*found, std::back_inserter(left.files));
  return left;
}

void print(const std::vector<Removal>& lines) {
  for (const Removal& line : lines) std::puts(describe(line).c_str());
  if (lines.empty()) std::puts("nothing is stale");
}

Json to_json(const StaleProcess& stale) {
  return {{"kind", "process"},
          {"pid", stale.process.id.pid},
          {"command", stale.command},
          {"why", stale.why},
          {"holds", stale.holds}};
}

Json to_json(const StaleFile& stale) {
  return {
      {"kind", "file"}, {"path", stale.file.path}, {"bytes", stale.file.bytes}, {"why", stale.why}};
}

void print_json(const std::vector<Removal>& lines) {
  Json json = Json::array();
  for (const Removal& line : lines) {
    json.push_back(std::visit([](const auto& stale) { return to_json(stale); }, line.what));
    json.back()["done"] = line.done;
  }
  std::puts(json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

}  // namespace

int verb_clean(std::span<const std::string> words) {
  CleanWords given;
  std::vector<std::string> rest;
  if (const auto status = clean_verb(given).settle(words, rest)) return *status;
  if (!rest.empty()) return refuse({Errc::usage, "clean takes no '" + rest.front() + "'"});
  const Leftovers left = find_leftovers();
  const CleanPolicy policy = policy_of(given);
  const std::vector<Removal> lines =
      given.dry_run ? plan_removal(left, policy) : remove(left, policy);
  given.json ? print_json(lines) : print(lines);
  return 0;
}

}  // namespace safelaunch
