#include "answer.h"
#include "interactive.h"
#include "recorded_runs.h"
#include "run_options.h"
#include "safelaunch/base/log.h"
#include "safelaunch/launch/find_program.h"
#include "safelaunch/run/run_job.h"
#include "verbs.h"

namespace safelaunch::cli {
namespace {

constexpr int kInterrupted = 130;  // as after Ctrl-C at the question

// A misspelt verb is taken for a command that does not exist.
Result<void> check_command(const run::RunPlan& plan) {
  const std::string& word = plan.options.command.front();
  const std::string hint = did_you_mean_verb(word);
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

}  // namespace

int verb_run(std::span<const std::string> words) {
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h")) return verb_help({});
  const Environment environment = current_environment();
  run::Configuration configuration;
  const auto read_defaults = [&](const std::string& file,
                                 const std::string& cluster) -> Result<profile::Settings> {
    Result<run::Configuration> read = run::read_configuration(file, cluster, environment);
    if (!read) return read.error();
    configuration = std::move(*read);
    return configuration.settings;
  };
  Result<run::RunOptions> options = parse_run_options(words, read_defaults);
  if (!options) return refuse(options.error());
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
  if (!plan->options.dry_run) return run_and_tidy(std::move(*plan));
  return answer(plan->options.json ? run::plan_json(*plan) : run::render_plan(*plan));
}

}  // namespace safelaunch::cli
