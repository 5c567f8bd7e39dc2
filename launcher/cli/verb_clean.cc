#include <algorithm>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "answer.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/result.h"
#include "safelaunch/clean/removal.h"
#include "safelaunch/clean/survey.h"
#include "safelaunch/gpu/gpu_reader.h"
#include "safelaunch/gpu/memory_holders.h"
#include "safelaunch/report/run_directory.h"
#include "verb_options.h"
#include "verbs.h"

namespace safelaunch::cli {
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

clean::CleanPolicy policy_of(const CleanWords& words) {
  if (words.all_mine) return clean::CleanPolicy::all_mine;
  if (words.policy == "off") return clean::CleanPolicy::off;
  return words.policy == "orphans" ? clean::CleanPolicy::orphans : clean::CleanPolicy::ours;
}

/// The memory of GPUs too is worth a word, where a driver tells who holds it.
gpu::Facts gpu_facts() {
  gpu::Facts facts = gpu::read_gpu_facts({current_environment()});
  if (facts.trouble != gpu::Trouble::none && facts.trouble != gpu::Trouble::no_driver)
    log_warning("whose GPU memory is in use is not known: " + facts.why);
  return facts;
}

/// Who holds memory and is not to be found among the processes: NVML may name the host's pids in a
/// container, or nobody.
void tell_of_hidden_holders(const gpu::Facts& facts) {
  for (const gpu::MemoryHolding& held : gpu::memory_holdings(facts))
    if (!host::facts_of(held.pid))
      log_warning(fmt::format("pid {} holds {} and is not visible here", held.pid, held.what));
  for (const std::string& memory : gpu::memory_without_holder(facts))
    log_warning(memory + " are in use by processes that are not visible here");
}

// Long enough for a program that works to show it, short enough to be waited for.
constexpr Duration kWatch{2'000};

clean::Needs all_that_is_held(const gpu::Facts& facts) {
  clean::Needs needs{.ports = {}, .inventory = true, .watch = kWatch};
  for (gpu::MemoryHolding& held : gpu::memory_holdings(facts))
    needs.held.push_back({held.pid, std::move(held.what)});
  return needs;
}

clean::Leftovers find_leftovers() {
  const gpu::Facts facts = gpu_facts();
  tell_of_hidden_holders(facts);
  const clean::Surroundings us = clean::read_surroundings();
  clean::Leftovers left;
  left.processes = clean::survey(all_that_is_held(facts), us);
  clean::StaleFiles files =
      clean::survey_files({host::read_shared_memory().files,
                           host::extension_locks(host::extensions_folder(us.environment)),
                           report::places_of_runs(us.environment)},
                          us.host, host::read_mounts());
  for (auto* found : {&files.segments, &files.locks})
    std::ranges::move(*found, std::back_inserter(left.files));
  return left;
}

void print(const std::vector<clean::Removal>& lines) {
  for (const clean::Removal& line : lines) std::puts(describe(line).c_str());
  if (lines.empty()) std::puts("nothing is stale");
}

Json to_json(const clean::StaleProcess& stale) {
  return {{"kind", "process"},
          {"pid", stale.process.id.pid},
          {"command", stale.command},
          {"why", stale.why},
          {"holds", stale.holds}};
}

Json to_json(const clean::StaleFile& stale) {
  return {
      {"kind", "file"}, {"path", stale.file.path}, {"bytes", stale.file.bytes}, {"why", stale.why}};
}

void print_json(const std::vector<clean::Removal>& lines) {
  Json json = Json::array();
  for (const clean::Removal& line : lines) {
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
  const clean::Leftovers left = find_leftovers();
  const clean::CleanPolicy policy = policy_of(given);
  const std::vector<clean::Removal> lines =
      given.dry_run ? clean::plan_removal(left, policy) : clean::remove(left, policy);
  given.json ? print_json(lines) : print(lines);
  return 0;
}

}  // namespace safelaunch::cli
