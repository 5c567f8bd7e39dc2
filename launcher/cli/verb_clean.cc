#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/clean/leftovers_survey.h"
#include "safelaunch/gpu/memory.h"
#include "safelaunch/gpu/reader.h"
#include "safelaunch/report/run_directory.h"
#include "verb_texts.h"
#include "verb_wishes.h"
#include "verbs.h"

// `clean` lists what is stale, who holds it and why it may go or must stay. It removes only what
// the policy allows; --dry-run shows the same and removes nothing.
namespace safelaunch::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kCleanOptions{
    settings::Option{.name = "policy",
                     .put = settings::put_into<&CleanWords::policy>,
                     .fallback = "ours",
                     .help = "what clean may end and remove",
                     .choices = "off|ours|orphans",
                     .excludes = "pid"},
    settings::Option{.name = "all-mine",
                     .put = settings::put_into<&CleanWords::all_mine>,
                     .help =
                         "also remove segments of yours in /dev/shm that no run of safelaunch has "
                         "recorded: another container's jobs may have made them",
                     .excludes = "policy"},
    settings::Option{.name = "pid",
                     .put = settings::put_into<&CleanWords::pid>,
                     .value = "N",
                     .help = "show this process of yours and all below it, ask, and end them: a "
                             "leftover that nothing proves to be one",
                     .range = {1, 4'194'304},
                     .excludes = "all-mine"},
    settings::Option{.name = "yes",
                     .letter = 'y',
                     .put = settings::put_into<&CleanWords::yes>,
                     .help = "with --pid: ask nothing"},
    settings::Option{.name = "dry-run",
                     .put = settings::put_into<&CleanWords::dry_run>,
                     .help = "say what would be done, and do nothing"},
    settings::Option{
        .name = "json", .put = settings::put_into<&CleanWords::json>, .help = "as JSON"},
};

/// The memory of GPUs too is worth a word, where a driver tells who holds it.
gpu::Facts gpu_facts() {
  gpu::Facts facts = gpu::read_gpu_facts({current_environment()});
  if (facts.trouble != gpu::Trouble::none && facts.trouble != gpu::Trouble::no_driver)
    log_warning("safelaunch cannot tell who uses GPU memory: " + facts.why);
  return facts;
}

/// Lists the holders of memory that are not found among the processes: NVML may name the host's
/// pids in a container, or nobody.
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
  const clean::Surroundings us =
      clean::read_surroundings(report::places_of_runs(current_environment()));
  clean::Leftovers left;
  left.processes = clean::survey(all_that_is_held(facts), us);
  clean::StaleFiles files =
      clean::survey_files({host::read_shared_memory().files,
                           host::extension_locks(host::extensions_folder(us.environment)), us.runs},
                          us.host, host::read_mounts());
  for (auto* found : {&files.segments, &files.locks})
    std::ranges::move(*found, std::back_inserter(left.files));
  return left;
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

bool has_gone(const clean::Removal& removal) {
  return removal.done != name(clean::EndResult::refused) &&
         removal.done != name(clean::EndResult::survived);
}

bool is_wanted() {
  const auto line = ask(tr("End all of this for good? [y/N] "));
  const std::string word = lower(trimmed(line.value_or("")));
  return word == "y" || word == "yes";
}

// A person's word takes the place of the proof, so it is shown first what ends.
int end_named(const CleanWords& given) {
  if (!given.yes && !given.dry_run && (given.json || !can_ask()))
    return refuse({Errc::usage,
                   "--pid asks on the terminal before it ends anything; where it cannot, "
                   "--dry-run shows the processes, and --yes ends them"});
  const auto tree =
      clean::survey_named(*given.pid, all_that_is_held(gpu_facts()), clean::read_surroundings());
  if (!tree) return refuse(tree.error());
  const clean::Leftovers left{*tree, {}};
  const auto planned = clean::plan_removal(left, settings::CleanPolicy::ours);
  if (given.dry_run && given.json) return answer(removals_json(planned));
  if (!given.json) answer_in_prose(render_removals(planned));
  if (given.dry_run) return 0;
  if (!given.yes && !is_wanted()) {
    warn("nothing was ended");
    return kInterruptedStatus;
  }
  const auto ended = clean::remove(left, settings::CleanPolicy::ours);
  if (given.json)
    answer(removals_json(ended));
  else
    for (std::size_t i = 0; i < ended.size(); ++i)
      answer(tr("{}: {}", tr(ended[i].done), fmt::format("pid {}\n", (*tree)[i].process.id.pid)));
  return std::ranges::all_of(ended, has_gone) ? 0 : exit_code_of(Errc::os);
}

int clean_up(const CleanWords& given, const std::vector<std::string>& /*rest*/) {
  if (given.yes && !given.pid) return refuse({Errc::usage, "--yes goes with --pid N"});
  if (given.pid) return end_named(given);
  const clean::Leftovers left = find_leftovers();
  const settings::CleanPolicy policy = policy_of(given);
  const std::vector<clean::Removal> lines =
      given.dry_run ? clean::plan_removal(left, policy) : clean::remove(left, policy);
  return given.json ? answer(removals_json(lines)) : answer_in_prose(render_removals(lines));
}

}  // namespace

settings::CleanPolicy policy_of(const CleanWords& words) {
  return words.all_mine ? settings::CleanPolicy::all_mine : words.policy;
}

std::string render_removals(std::span<const clean::Removal> lines) {
  std::string text;
  for (const clean::Removal& line : lines)
    text += tr("{}: {}", tr(line.done), tr(describe(line).substr(line.done.size() + 2))) + "\n";
  return lines.empty() ? tr("nothing is stale") + "\n" : text;
}

std::string removals_json(std::span<const clean::Removal> lines) {
  Json json = Json::array();
  for (const clean::Removal& line : lines) {
    json.push_back(std::visit([](const auto& stale) { return to_json(stale); }, line.what));
    json.back()["done"] = line.done;
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

const Verb kCleanVerb{
    .name = "clean",
    .function = reads<CleanWords, clean_up>,
    .help = "what earlier runs left: processes, segments, locks",
    .usage = "[OPTIONS]",
    .purpose =
        "Lists what earlier runs left, says why each is taken for a leftover, "
        "and ends or removes what is provably safelaunch's. With --pid it ends what you "
        "name, after it has shown it and asked.",
    .example = "safelaunch clean --dry-run\nsafelaunch clean --pid 4711",
    .options = kCleanOptions};

}  // namespace safelaunch::cli
