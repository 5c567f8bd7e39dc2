#include "verb_run.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "help.h"
#include "recorded_runs.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/gpu/visible.h"
#include "safelaunch/launch/find_program.h"
#include "safelaunch/launch/room.h"
#include "safelaunch/plan/host_checks.h"
#include "safelaunch/plan/json_file.h"
#include "safelaunch/plan/wrapper.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/run/dry_run.h"
#include "safelaunch/run/run_job.h"
#include "verbs.h"

// `run` makes a plan of its words and hands it on. With --dry-run the plan is shown, and nothing
// else happens.
namespace safelaunch::cli {
namespace {

// An option that the command line leaves open takes its value from a setting.
Result<void> complete(settings::RunOptions& options, const std::string& name,
                      const settings::Setting& setting) {
  const settings::Option* option = settings::find_run_option(name);
  if (option == nullptr) return Error{Errc::usage, setting.origin + ": there is no option " + name};
  if (const auto why = settings::refuse_value(*option, setting.value))
    return Error{Errc::usage, fmt::format("{}: {}: {}", setting.origin, name, *why)};
  option->put.write(*option, &options, setting.value);
  options.given.emplace(name, setting);
  return {};
}

auto by_name(std::string_view name) {
  return [name](const profile::Profile& profile) { return profile.name == name; };
}

/// The chain's profiles, then all others that can be named here.
std::vector<profile::Profile> profiles_to_choose(const plan::RunPlan& plan) {
  std::vector<profile::Profile> profiles = plan.chain;
  for (profile::Profile& other : profile::ProfileLibrary::standard(plan.environment).load_all())
    if (std::ranges::none_of(plan.chain, by_name(other.name))) profiles.push_back(std::move(other));
  return profiles;
}

// A misspelt verb is taken for a command that does not exist.
Result<void> check_command(const plan::RunPlan& plan) {
  const std::string& word = plan.options.command.front();
  const std::string hint = hint_for_command(word);
  if (hint.empty()) return {};
  const auto program = launch::find_program(word, plan.environment);
  if (program) return {};
  return Error{program.error().code, program.error().message + hint};
}

// Where the user wants something written must take it: after the job it would be too late to say.
Result<void> check_places(const settings::RunOptions& options) {
  std::error_code none;
  const auto& logs = options.log_dir;
  if (std::filesystem::exists(logs, none) && !std::filesystem::is_directory(logs, none))
    return Error{Errc::usage, fmt::format("--log-dir {}: is no folder", logs.native())};
  if (!options.metrics.empty()) {
    const Result<std::string> doubt = run::check_metrics_file(options.metrics, !options.dry_run);
    if (!doubt) return doubt.error();
    if (!doubt->empty()) warn(*doubt);
  }
  return plan::check_json_file(plan::json_file(options));
}

// "--ranks 9: …" was perhaps written as SAFELAUNCH_RANKS, or in a file.
Error by_its_origin(Error error, const settings::Settings& given) {
  for (const auto& [name, setting] : given) {
    const std::string option = "--" + name;
    const std::string_view rest =
        std::string_view(error.message)
            .substr(error.message.starts_with(option) ? option.size() : error.message.size());
    if (!rest.starts_with(' ') && !rest.starts_with(':')) continue;
    return {error.code, setting.origin + std::string(rest)};
  }
  return error;
}

// The records of earlier runs are tidied when the job is over, so that it never waits for it.
int run_and_tidy(plan::RunPlan plan) {
  const report::KeepLimits limits = keep_limits(plan.options);
  const Environment environment = plan.environment;
  const int status = run::run_job(std::move(plan));
  remove_old_records(limits, environment);
  return status;
}

int show(const plan::RunPlan& plan) {
  const plan::SeenOfJob seen{.gpu = gpu::may_find_gpu(plan.environment)};
  const run::ShownPlan shown =
      plan.options.json ? run::plan_json(plan, seen) : run::render_plan(plan, seen);
  const std::filesystem::path file = plan::json_file(plan.options);
  if (file.empty())
    answer(shown.text);
  else if (const Result<void> written = plan::write_json(file, shown.text); !written)
    return refuse(written.error());
  return shown.refusal ? refuse(*shown.refusal) : 0;
}

int run_command(const Verb& /*itself*/, std::span<const std::string> words) {
  if (const Result<void> room = launch::check_room(); !room) return refuse(room.error());
  const Environment environment = current_environment();
  plan::Configuration configuration;
  const auto read_defaults = [&](const std::string& file,
                                 const std::string& cluster) -> Result<settings::Settings> {
    Result<plan::Configuration> read = plan::read_configuration(file, cluster, environment);
    if (!read) return read.error();
    configuration = std::move(*read);
    return configuration.settings;
  };
  Result<settings::RunOptions> options = parse_run_options(words, read_defaults);
  if (!options) return refuse(options.error());
  if (options->wants_help) return answer(general_help());
  set_verbosity(options->verbosity);
  if (const Result<void> places = check_places(*options); !places) return refuse(places.error());
  const settings::Settings given = options->given;
  Result<plan::RunPlan> plan =
      plan::make_plan(std::move(*options), std::move(configuration), environment);
  if (!plan) return refuse(by_its_origin(plan.error(), given));
  if (plan->options.interactive) {
    const Result<Wish> wish = ask_for_profile(*plan);
    if (!wish) return refuse(wish.error());
    if (*wish == Wish::nothing) return kInterruptedStatus;
  }
  if (const Result<void> known = check_command(*plan); !known) return refuse(known.error());
  if (plan->options.dry_run) return show(*plan);
  if (const Result<void> entered = plan::enter(plan->options.command, plan->environment); !entered)
    return refuse(entered.error());
  return run_and_tidy(std::move(*plan));
}

int run_without_verb(const Verb& itself, std::span<const std::string> words) {
  const std::optional<Error> mistaken = taken_for_verb(words);
  return mistaken ? refuse(*mistaken) : run_command(itself, words);
}

}  // namespace

Error no_command() {
  return {Errc::usage, "there is no command to run (safelaunch --help lists the options)"};
}

std::optional<Error> taken_for_verb(std::span<const std::string> words) {
  if (words.empty() || !instead_of(words.front())) return std::nullopt;
  const auto program = launch::find_program(words.front(), current_environment());
  const auto why = program ? no_verb(words, *program) : std::nullopt;
  return why ? std::optional(Error{Errc::usage, *why}) : std::nullopt;
}

Result<settings::RunOptions> parse_run_options(std::span<const std::string> words,
                                               const OptionDefaults& defaults) {
  settings::RunOptions options;
  Result<settings::ReadWords> read = read_words_of(kRunVerb, words, &options);
  if (!read) return read.error();
  options.wants_help = read->wants_help;
  if (options.wants_help) return options;
  options.command = std::move(read->rest);
  for (const auto& [name, value] : read->given) options.given[name] = {value, "--" + name};
  const Result<settings::Settings> settings = defaults(options.config, options.cluster);
  if (!settings) return settings.error();
  const settings::Settings typed = options.given;
  for (const auto& [name, setting] : *settings) {
    if (settings::overrules(typed, name)) continue;
    if (const Result<void> done = complete(options, name, setting); !done) return done.error();
  }
  if (options.command.empty()) return no_command();
  return options;
}

std::string hint_for_command(std::string_view word) {
  if (const auto instead = instead_of(word)) return fmt::format("; {}", *instead);
  const std::string file = fmt::format("profiles/{}.yaml", word);
  if (std::ranges::find(profile::builtin_profiles(), file, &profile::BuiltInProfile::path) !=
      profile::builtin_profiles().end())
    return fmt::format("; to run under that profile: --profile {}", word);
  return did_you_mean_verb(word);
}

report::KeepLimits keep_limits(const settings::RunOptions& options) {
  const report::KeepLimits fallback;
  return {options.keep_runs.value_or(fallback.runs), options.keep_days.value_or(fallback.days)};
}

const Verb kNoVerb{.name = "run", .function = run_without_verb, .starts_job = StartsJob::yes};

const Verb kRunVerb{.name = "run",
                    .function = run_command,
                    .starts_job = StartsJob::yes,
                    .help = "run COMMAND (also without the word run)",
                    .usage = "[OPTIONS] [--] COMMAND [ARG...]",
                    .purpose =
                        "Runs COMMAND, watches it until its first collective, and runs it again "
                        "with the next profile where that may help.",
                    .example =
                        "safelaunch torchrun --nproc_per_node=4 train.py\nsafelaunch "
                        "--nproc-per-node 4 --init-timeout 60s train.py",
                    .options = settings::run_options(),
                    .rest = settings::Rest::command,
                    .again = settings::Again::overrides};

// With --interactive the findings and the profiles are shown, and one answer chooses where the
// chain begins: a number, a name, or nothing for the first.

std::string profile_menu(std::span<const Finding> findings,
                         std::span<const profile::Profile> profiles, std::size_t in_chain) {
  std::string text;
  for (const Finding& finding : findings)
    text += fmt::format("{:8}  {}: {}\n          {}\n", tr(name(finding.severity)), finding.cause,
                        tr(finding.evidence), tr(finding.remedy));
  text += findings.empty() ? tr("No problems found on this host.") + "\n\n" : "\n";
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (i == in_chain) text += tr("others:") + "\n";
    text += fmt::format("{:3}  {:16} {}\n", i + 1, profiles[i].name,
                        tr("cost: {}", tr(plan::cost_in_words(profiles[i]))));
  }
  return text;
}

Result<std::size_t> profile_meant(std::string_view answer,
                                  std::span<const profile::Profile> profiles) {
  if (answer.empty()) return std::size_t{0};
  if (const auto number = to_number<std::size_t>(answer)) {
    if (*number >= 1 && *number <= profiles.size()) return *number - 1;
    return Error{Errc::usage,
                 fmt::format("there is no number {}; 1 to {}", answer, profiles.size())};
  }
  const auto named = std::ranges::find_if(profiles, by_name(answer));
  if (named != profiles.end()) return static_cast<std::size_t>(named - profiles.begin());
  std::vector<std::string_view> names;
  for (const profile::Profile& profile : profiles) names.push_back(profile.name);
  return Error{Errc::usage, fmt::format("there is no profile '{}'{}; type a number, a name or q",
                                        answer, did_you_mean(answer, names))};
}

void begin_with(plan::RunPlan& plan, const profile::Profile& profile) {
  const profile::Profile chosen = profile;  // it may stand in the chain that changes now
  std::erase_if(plan.chain, by_name(chosen.name));
  std::erase(plan.chain_names, chosen.name);
  plan.chain.insert(plan.chain.begin(), chosen);
  plan.chain_names.insert(plan.chain_names.begin(), chosen.name);
  plan.chain_origin = "your choice, then " + plan.chain_origin;
  if (!plan.options.only && !plan.options.max_attempts)
    plan.max_attempts = static_cast<int>(plan.chain.size());
}

Result<Wish> ask_for_profile(plan::RunPlan& plan) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0)
    return Error{Errc::usage, "--interactive asks on the terminal, and there is none"};
  if (const Result<void> read = plan::read_rest_of_chain(plan); !read) return read.error();
  const std::vector<profile::Profile> profiles = profiles_to_choose(plan);
  const auto findings = plan.options.preflight ? plan::examine_host(plan) : std::vector<Finding>();
  show_to_person(profile_menu(findings, profiles, plan.chain.size()));
  for (;;) {
    const auto answer =
        ask(tr("Begin with which profile? [1: {}; q: run nothing] ", profiles.front().name));
    if (!answer || *answer == "q") return Wish::nothing;
    const Result<std::size_t> meant = profile_meant(*answer, profiles);
    if (!meant) {
      show_to_person(tr(meant.error().message) + "\n");
      continue;
    }
    if (*meant > 0) begin_with(plan, profiles[*meant]);
    return Wish::run;
  }
}

}  // namespace safelaunch::cli
