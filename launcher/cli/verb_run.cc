#include "answer.h"
#include "help.h"
#include "interactive.h"
#include "no_verb.h"
#include "recorded_runs.h"
#include "run_options.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/launch/find_program.h"
#include "safelaunch/run/dry_run.h"
#include "safelaunch/run/json_file.h"
#include "safelaunch/run/run_job.h"
#include "verbs.h"

// `run` makes a plan of its words and hands it on. With --dry-run the plan is shown, and nothing
// else happens.
namespace safelaunch::cli {
namespace {

constexpr int kInterrupted = 130;  // as after Ctrl-C at the question

std::string hint_for(const std::string& word) {
  if (const auto instead = instead_of(word)) return fmt::format("; {}", *instead);
  return did_you_mean_verb(word);
}

// A misspelt verb is taken for a command that does not exist.
Result<void> check_command(const run::RunPlan& plan) {
  const std::string& word = plan.options.command.front();
  const std::string hint = hint_for(word);
  if (hint.empty()) return {};
  const auto program = launch::find_program(word, plan.environment);
  if (program) return {};
  return Error{program.error().code, program.error().message + hint};
}

// The records of earlier runs are tidied when the job is over, so that it never waits for it.
int run_and_tidy(run::RunPlan plan) {
  const report::KeepLimits fallback;
  const report::KeepLimits limits{plan.options.keep_runs.value_or(fallback.runs),
                                  plan.options.keep_days.value_or(fallback.days)};
  const Environment environment = plan.environment;
  const int status = run::run_job(std::move(plan));
  remove_old_records(limits, environment);
  return status;
}

int show(const run::RunPlan& plan) {
  const run::ShownPlan shown = plan.options.json ? run::plan_json(plan) : run::render_plan(plan);
  const std::filesystem::path file = run::json_file(plan.options);
  if (file.empty())
    answer(shown.text);
  else if (const Result<void> written = run::write_json(file, shown.text); !written)
    return refuse(written.error());
  return shown.refusal ? refuse(*shown.refusal) : 0;
}

int run_command(std::span<const std::string> words) {
  const Environment environment = current_environment();
  run::Configuration configuration;
  const auto read_defaults = [&](const std::string& file,
                                 const std::string& cluster) -> Result<settings::Settings> {
    Result<run::Configuration> read = run::read_configuration(file, cluster, environment);
    if (!read) return read.error();
    configuration = std::move(*read);
    return configuration.settings;
  };
  Result<settings::RunOptions> options = parse_run_options(words, read_defaults);
  if (!options) return refuse(options.error());
  if (options->wants_help) return answer(general_help());
  set_verbosity(options->verbosity);
  Result<run::RunPlan> plan =
      run::make_plan(std::move(*options), std::move(configuration), environment);
  if (!plan) return refuse(plan.error());
  if (plan->options.interactive) {
    const Result<Wish> wish = ask_for_profile(*plan);
    if (!wish) return refuse(wish.error());
    if (*wish == Wish::nothing) return kInterrupted;
  }
  if (const Result<void> known = check_command(*plan); !known) return refuse(known.error());
  return plan->options.dry_run ? show(*plan) : run_and_tidy(std::move(*plan));
}

int run_without_verb(std::span<const std::string> words) {
  if (!words.empty() && instead_of(words.front())) {
    const auto program = launch::find_program(words.front(), current_environment());
    const auto why = program ? no_verb(words, *program) : std::nullopt;
    if (why) return refuse({Errc::usage, *why});
  }
  return run_command(words);
}

}  // namespace

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

}  // namespace safelaunch::cli
