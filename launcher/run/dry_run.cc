#include "safelaunch/run/dry_run.h"

#include <nlohmann/json.hpp>

#include "rehearsal.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/time.h"
#include "safelaunch/base/variable_names.h"
#include "safelaunch/plan/typed_command.h"

// The first attempt is told whole, of the later ones what is different. Everything that a user has
// written goes through the redactor, a variable with its name, which may show that it is a secret.
namespace safelaunch::run {
namespace {

using Json = nlohmann::ordered_json;

const char* in_words(job::PortPolicy policy) {
  switch (policy) {
    case job::PortPolicy::nothing: return "the launcher's own business";
    case job::PortPolicy::choose: return "a free one is chosen and held";
    case job::PortPolicy::if_taken: return "yours; another one only after it was found taken";
    case job::PortPolicy::user: return "yours if it is free";
    case job::PortPolicy::multi_node: return "never changed: other nodes must know it";
  }
  return "";
}

std::string port_policy_in_words(const plan::RunPlan& plan) {
  using How = settings::PortWish::How;
  const How how = plan::options_under(plan.options, plan.chain.front()).port.how;
  const bool several = plan.port_policy() == job::PortPolicy::multi_node;
  if (how == How::keep) return "kept, as --port says";
  if (several && plan.party) return "chosen on the node where the ranks meet, for all nodes";
  if (how == How::range && !several) return "a free one of those that --port names";
  return in_words(plan.port_policy());
}

std::string shown(std::string_view name, const std::optional<std::string>& value,
                  const redact::Redactor& redactor) {
  return value ? redactor.redact(name, *value) : "(not set)";
}

std::string ranks_in_words(const plan::RunPlan& plan) {
  if (plan.spawn)
    return fmt::format("{} of {}, spawned by safelaunch", plan.spawn->workers,
                       plan.spawn->world_size);
  if (plan.command.processes_per_node)
    return fmt::format("{} on each node, by {}", to_string(*plan.command.processes_per_node),
                       name(plan.command.launcher));
  return "not known before they start";
}

std::string port_in_words(const plan::RunPlan& plan, const Rehearsal& rehearsal) {
  if (rehearsal.port_refusal) return rehearsal.port_refusal->message;
  if (!rehearsal.port_notice.empty()) return rehearsal.port_notice;
  if (!rehearsal.port && plan.port_policy() == job::PortPolicy::nothing &&
      plan.command.launcher != job::Launcher::opaque)
    return fmt::format("chosen by {}", name(plan.command.launcher));
  if (!rehearsal.port) return port_policy_in_words(plan);
  const auto users = plan.spawn ? plan.spawn->master_port : plan.command.port.value;
  if (users == rehearsal.port) return fmt::format("{}, which is free", *rehearsal.port);
  return fmt::format("{}: a free one is chosen and held, so a run may take another",
                     *rehearsal.port);
}

struct Deadline {
  const char* name;
  std::string limit;
};

std::string shown(Duration limit) {
  return limit == Duration::zero() ? "off" : format_duration(limit);
}

std::vector<Deadline> deadlines_of(const AttemptSpec& spec) {
  const watch::StageLimits& limits = spec.stages.limits;
  return {{"init", shown(limits.init)},
          {"collective", shown(limits.collective)},
          {"quiet", shown(limits.quiet)},
          {"work", shown(limits.work)},
          {"stopped", shown(limits.stopped)},
          {"start", shown(spec.start)},
          {"stall", spec.stall.off() ? "off" : format_stall_timeout(spec.stall)},
          {"grace", format_duration(spec.grace.of_ranks)}};
}

std::string deadlines_in_words(const AttemptSpec& spec) {
  std::string text;
  for (const Deadline& deadline : deadlines_of(spec))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", deadline.name, deadline.limit);
  return text;
}

std::string row(std::string_view label, std::string_view value) {
  return fmt::format("{:<8}  {}\n", tr(label), value);
}

// The plan without its attempts.
std::string head(const plan::RunPlan& plan, const Rehearsal& rehearsal,
                 const redact::Redactor& redactor) {
  std::string text = row("command", shell_line(redactor.redact(plan.options.command))) +
                     row("launcher", name(plan.command.launcher)) +
                     row("ranks", tr(ranks_in_words(plan))) +
                     row("port", tr(port_in_words(plan, rehearsal)));
  if (!plan.configuration.cluster.empty()) text += row("cluster", plan.configuration.cluster);
  for (const auto& [option, setting] : plan.options.given)
    text += row("option", fmt::format("--{} {}  ({})", option, redactor.redact(setting.value),
                                      setting.origin));
  return text;
}

using Lines = std::vector<std::string>;

constexpr const char* kShownByVerbose = " variables of safelaunch's own (-v shows them)";

// "NCCL_P2P_DISABLE=1  (profile no-p2p)", "NCCL_DEBUG=WARN in place of INFO  (--set)". The place of
// a built-in profile's line is for whoever asks for more.
std::string line_of(const std::string& name, const SetVariable& variable, bool verbose,
                    const redact::Redactor& redactor) {
  const std::string before = shown(name, variable.before, redactor);
  const bool differs = variable.before && variable.before != variable.after;
  const std::string in_place = differs ? tr(" in place of {}", before) : std::string();
  const std::string now =
      variable.after ? fmt::format("{}={}{}", name, shown(name, variable.after, redactor), in_place)
                     : tr("{} is taken out, which was {}", name, before);
  const std::size_t place = variable.origin.find(" (profiles/");
  return fmt::format("{}  ({})", now,
                     tr(verbose ? variable.origin : variable.origin.substr(0, place)));
}

void add_variables(const plan::RunPlan& plan, const RehearsedAttempt& attempt,
                   const redact::Redactor& redactor, Lines& lines) {
  const bool verbose = plan.options.verbosity == Verbosity::verbose;
  int own = 0;
  for (const auto& [name, variable] : attempt.variables)
    if (variable.is_own && !variable.before && !verbose)
      ++own;
    else
      lines.push_back(line_of(name, variable, verbose, redactor));
  if (own > 0) lines.push_back(fmt::format("{} {}{}", tr("and"), own, tr(kShownByVerbose)));
  for (const WorkerVariables& worker : attempt.workers) {
    std::string line = fmt::format("rank {}:", worker.rank.value);
    for (const auto& [name, value] : worker.variables)
      line += fmt::format(" {}={}", name, redactor.redact(name, value));
    lines.push_back(std::move(line));
  }
}

Lines details_of(const plan::RunPlan& plan, const RehearsedAttempt& attempt,
                 const redact::Redactor& redactor) {
  const profile::Profile& profile = *attempt.profile;
  Lines lines;
  if (!attempt.passed_over.empty())
    lines.push_back(tr("passed over on this host: {}", tr(attempt.passed_over)));
  // What would not be tried is no part of the plan: -v shows it to whoever tests a rule for
  // another host here.
  if (!attempt.passed_over.empty() && plan.options.verbosity != Verbosity::verbose) return lines;
  if (attempt.refusal) lines.push_back(tr("does not start: {}", tr(attempt.refusal->message)));
  if (attempt.spec.workers.empty()) return lines;
  lines.push_back(tr("runs: {}", shell_line(redactor.redact(attempt.spec.workers.front().argv))));
  lines.push_back(tr("deadlines: {}", deadlines_in_words(attempt.spec)));
  if (profile.backend == profile::Backend::gloo)
    lines.push_back(tr("backend: gloo in place of nccl"));
  add_variables(plan, attempt, redactor, lines);
  for (const auto& [name, setting] : profile.options)
    if (!plan.options.given.contains(name))
      lines.push_back(fmt::format("--{} {}  ({})", name, setting.value, setting.origin));
  if (!attempt.notice.empty()) lines.push_back(tr(attempt.notice));
  return lines;
}

// Each attempt has a folder and a number of its own: that alone makes no line another one.
Lines without_its_own_names(Lines lines, const RehearsedAttempt& attempt) {
  const std::string folder = attempt.spec.directory.filename().string();
  for (std::string& line : lines) {
    for (auto at = line.find(folder); !folder.empty() && at != std::string::npos;
         at = line.find(folder))
      line.replace(at, folder.size(), "*");
    if (line.starts_with(fmt::format("{}=", kAttemptVariable))) line = kAttemptVariable;
    if (line.ends_with(tr(kShownByVerbose))) line = kShownByVerbose;
  }
  return lines;
}

// The first attempt is told whole, of each later one what is different.
std::string attempts_in_words(const plan::RunPlan& plan, const Rehearsal& rehearsal,
                              const redact::Redactor& redactor) {
  std::string text;
  std::optional<Lines> first;
  for (const RehearsedAttempt& attempt : rehearsal.attempts) {
    const profile::Profile& profile = *attempt.profile;
    text +=
        fmt::format("  {:<16} {}\n", profile.name,
                    tr("cost {}: {}", tr(name(plan::cost_here(profile))), tr(profile.description)));
    const Lines lines = details_of(plan, attempt, redactor);
    const Lines compared = without_its_own_names(lines, attempt);
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (!first || std::ranges::find(*first, compared[i]) == first->end())
        text += fmt::format("    {}\n", lines[i]);
    if (!first) first = compared;
  }
  if (rehearsal.attempts.size() > 1)
    text += fmt::format(
        "  {}\n", tr("later attempts show only what differs from {}; --json shows each in full",
                     rehearsal.attempts.front().profile->name));
  return text;
}

Json environment_json(const RehearsedAttempt& attempt, const redact::Redactor& redactor) {
  Json json = Json::object();
  for (const auto& [name, variable] : attempt.variables)
    json[name] = shown(name, variable.after, redactor);
  return json;
}

Json origins_json(const RehearsedAttempt& attempt) {
  Json json = Json::object();
  for (const auto& [name, variable] : attempt.variables) json[name] = variable.origin;
  return json;
}

Json workers_json(const RehearsedAttempt& attempt, const redact::Redactor& redactor) {
  Json json = Json::array();
  for (const WorkerVariables& worker : attempt.workers) {
    Json environment = Json::object();
    for (const auto& [name, value] : worker.variables)
      environment[name] = redactor.redact(name, value);
    json.push_back({{"rank", worker.rank.value}, {"environment", std::move(environment)}});
  }
  return json;
}

Json options_json(const settings::Settings& settings, const redact::Redactor& redactor) {
  Json json = Json::object();
  for (const auto& [name, setting] : settings)
    json[name] = {{"value", redactor.redact(setting.value)}, {"origin", setting.origin}};
  return json;
}

Json attempt_json(const plan::RunPlan& plan, const RehearsedAttempt& attempt,
                  const redact::Redactor& redactor) {
  const profile::Profile& profile = *attempt.profile;
  Json json{{"profile", profile.name},
            {"cost", name(plan::cost_here(profile))},
            {"backend", name(profile.backend)}};
  if (!attempt.passed_over.empty()) json["passed_over"] = attempt.passed_over;
  if (attempt.refusal) json["refused"] = attempt.refusal->message;
  if (attempt.spec.workers.empty()) return json;
  json["argv"] = redactor.redact(attempt.spec.workers.front().argv);
  json["environment"] = environment_json(attempt, redactor);
  json["origins"] = origins_json(attempt);
  if (plan.spawn) json["workers"] = workers_json(attempt, redactor);
  for (const Deadline& deadline : deadlines_of(attempt.spec))
    json["deadlines"][deadline.name] = deadline.limit;
  settings::Settings own = profile.options;
  std::erase_if(own, [&](const auto& one) { return plan.options.given.contains(one.first); });
  json["options"] = options_json(own, redactor);
  return json;
}

std::string rest_in_words(const Rehearsal& rehearsal) {
  std::string text;
  for (const profile::StruckOut& left : rehearsal.left_out)
    text += fmt::format("  {:<16} {}\n", left.name, tr("never tried: {}", tr(left.why)));
  for (const std::string& other : rehearsal.others)
    text += fmt::format("  {:<16} {}\n", other, tr("only where it heals the cause that was found"));
  return text;
}

void add_rest(const Rehearsal& rehearsal, Json& json) {
  json["never_tried"] = Json::object();
  for (const profile::StruckOut& left : rehearsal.left_out)
    json["never_tried"][left.name] = left.why;
  json["only_if_it_heals"] = rehearsal.others;
}

std::vector<std::string> warnings_of(const plan::RunPlan& plan, const Rehearsal& rehearsal) {
  std::vector<std::string> warnings = plan.warnings;
  for (std::string& missing : plan::missing_files(plan.command, plan.environment))
    if (!rehearsal.refusal || rehearsal.refusal->message != missing)
      warnings.push_back(std::move(missing));
  return warnings;
}

}  // namespace

ShownPlan render_plan(const plan::RunPlan& plan, const plan::SeenOfJob& seen) {
  const redact::Redactor redactor = plan::redactor_for(plan);
  const Rehearsal rehearsal = rehearse(plan, seen);
  std::string text = head(plan, rehearsal, redactor);
  text +=
      row("chain", tr(fmt::format("from {}, at most {} attempt{}", plan.chain_origin,
                                  rehearsal.max_attempts, rehearsal.max_attempts == 1 ? "" : "s")));
  text += attempts_in_words(plan, rehearsal, redactor);
  text += rest_in_words(rehearsal);
  for (const std::string& warning : warnings_of(plan, rehearsal))
    text += row("warning", tr(warning));
  return {std::move(text), rehearsal.refusal};
}

ShownPlan plan_json(const plan::RunPlan& plan, const plan::SeenOfJob& seen) {
  const redact::Redactor redactor = plan::redactor_for(plan);
  const Rehearsal rehearsal = rehearse(plan, seen);
  Json json;
  json["command"] = redactor.redact(plan.options.command);
  json["launcher"] = name(plan.command.launcher);
  if (plan.command.script) json["script_word"] = plan.command.script->word;
  json["nodes"] = plan.nodes();
  if (plan.spawn) json["workers"] = plan.spawn->workers;
  if (!plan.spawn && plan.command.processes_per_node)
    json["processes_per_node"] = to_string(*plan.command.processes_per_node);
  if (rehearsal.port)
    json["port"] = *rehearsal.port;
  else if (plan.command.port.value)
    json["port"] = *plan.command.port.value;
  json["port_policy"] = port_policy_in_words(plan);
  if (!rehearsal.port_notice.empty()) json["port_notice"] = rehearsal.port_notice;
  if (!plan.configuration.cluster.empty()) json["cluster"] = plan.configuration.cluster;
  json["options"] = options_json(plan.options.given, redactor);
  json["chain_from"] = plan.chain_origin;
  json["max_attempts"] = rehearsal.max_attempts;
  json["chain"] = Json::array();
  for (const RehearsedAttempt& attempt : rehearsal.attempts)
    json["chain"].push_back(attempt_json(plan, attempt, redactor));
  add_rest(rehearsal, json);
  json["warnings"] = warnings_of(plan, rehearsal);
  if (rehearsal.refusal)
    json["refused"] = {{"why", rehearsal.refusal->message},
                       {"exit_status", exit_code_of(rehearsal.refusal->code)}};
  return {json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", rehearsal.refusal};
}

}  // namespace safelaunch::run
