#include <array>

#include "plan_steps.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/profile/variables.h"

// A word of the user's that has no effect is told, and two that contradict each other are refused.
// Only words that stand on the command line count: those of a file are for jobs of every kind.
namespace safelaunch::plan {
namespace {

bool is_typed(const settings::RunOptions& options, const std::string& name) {
  const auto given = options.given.find(name);
  return given != options.given.end() && given->second.origin == "--" + name;
}

constexpr std::array kOfOwnWorkers = {"devices",    "nnodes",      "node-rank",   "start-rank",
                                      "world-size", "master-addr", "master-port", "binding"};

void warn_of_worker_options(RunPlan& plan) {
  std::vector<std::string> idle;
  for (const std::string name : kOfOwnWorkers)
    if (is_typed(plan.options, name)) idle.push_back("--" + name);
  if (plan.spawn || idle.empty()) return;
  plan.warnings.push_back(fmt::format(
      "{} {} no effect: safelaunch does not spawn the ranks here; {}", list_in_words(idle),
      idle.size() == 1 ? "has" : "have",
      spawns_by_itself(plan.command.launcher)
          ? fmt::format("{} has options of its own for that", name(plan.command.launcher))
          : "it does with --nproc-per-node"));
}

// Options for what this job does not have.
void warn_of_idle_options(RunPlan& plan) {
  const settings::RunOptions& options = plan.options;
  const bool names_port =
      is_typed(options, "port") && options.port.how == settings::PortWish::How::range;
  if (names_port && !plan.spawn && !job::takes_port(plan.command))
    plan.warnings.push_back(
        fmt::format("--port {} has no effect: the command takes no port, neither by an option of a "
                    "launcher nor in MASTER_PORT",
                    options.given.at("port").value));
  for (const char* const name : {"token-file", "nodes-timeout", "node-lease"})
    if (is_typed(options, name) && !plan.party)
      plan.warnings.push_back(
          fmt::format("--{} has no effect: no agents of other nodes take part in this job", name));
}

// The two that stand in no table of options: whoever misspells them would never know.
void warn_of_own_variables(RunPlan& plan) {
  constexpr std::array<std::string_view, 5> kOn{"", "on", "1", "true", "yes"};
  const std::string switched = lower(value_or(plan.environment, "SAFELAUNCH"));
  const bool is_path = switched.find('/') != std::string::npos;  // a script's own variable
  if (!is_path && std::ranges::find(kOn, switched) == kOn.end())
    plan.warnings.push_back(
        fmt::format("SAFELAUNCH={} switches nothing; SAFELAUNCH=off does", switched));
  const std::string language = lower(value_or(plan.environment, "SAFELAUNCH_LANG"));
  if (!language.empty() && !language.starts_with("en") && !language.starts_with("zh"))
    plan.warnings.push_back(
        fmt::format("SAFELAUNCH_LANG={} is no language of safelaunch's; en and zh are", language));
}

}  // namespace

// Where one of the two is a setting, the command line's word decides.
Result<void> refuse_contradiction(const settings::RunOptions& options) {
  if (is_typed(options, "master-port") && is_typed(options, "port") && options.master_port &&
      options.port.how == settings::PortWish::How::range &&
      (options.port.range.first != options.master_port ||
       options.port.range.last != options.master_port))
    return Error{
        Errc::usage,
        fmt::format("--master-port {} and --port {} both name the port; give one of the two",
                    *options.master_port, options.given.at("port").value)};
  const bool both = is_typed(options, "only") && is_typed(options, "max-attempts");
  if (!both || !options.only || options.max_attempts == 1) return {};
  return Error{Errc::usage,
               fmt::format("--only starts the job once, and --max-attempts {} up to {} "
                           "times; give one of the two",
                           *options.max_attempts, *options.max_attempts)};
}

void warn_of_variables(RunPlan& plan) {
  for (const auto& [name, setting] : plan.overrides.env)
    if (auto warning = profile::warning_for(name, setting.value))
      plan.warnings.push_back("--set: " + *warning);
  warn_of_own_variables(plan);
  // In place of port 0 the job gets a free one.
  const bool gets_a_port = plan.port_policy() == job::PortPolicy::choose &&
                           plan.options.port.how != settings::PortWish::How::keep;
  for (const job::CommandWarning& warning : plan.command.warnings)
    if (warning.id != job::Warning::port_zero || !gets_a_port)
      plan.warnings.push_back(warning.text);
}

// A launcher's ranks write to one pipe: only the launcher can tell which rank wrote a line.
void warn_of_options(RunPlan& plan) {
  const settings::RunOptions& options = plan.options;
  warn_of_worker_options(plan);
  warn_of_idle_options(plan);
  if (!plan.spawn && (options.prefix || options.ranks != "all"))
    plan.warnings.push_back(
        "--prefix and --ranks have no effect where a launcher starts the ranks; use its own "
        "options "
        "(torchrun: --local-ranks-filter, --redirects), or --nproc-per-node");
}

}  // namespace safelaunch::plan
