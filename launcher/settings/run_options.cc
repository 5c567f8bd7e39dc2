#include "safelaunch/settings/run_options.h"

#include <array>

// A row names the members that its option fills, the places where it may stand, and all that help
// says of it. Some rows need a function of their own, because two flags set one verbosity, and a
// word behind --json= is a file unless it is a flag's.
namespace safelaunch::settings {
namespace {

using Kind = OptionKind;
using Scope = OptionScope;

template <Verbosity verbosity>
void put_verbosity(const Option&, void* target, std::string_view value) {
  if (option_value::flag(value)) static_cast<RunOptions*>(target)->verbosity = verbosity;
}

void put_no_colour(const Option&, void* target, std::string_view value) {
  if (option_value::flag(value)) static_cast<RunOptions*>(target)->colour = ColourWish::never;
}

// A FILE turns it on too; plan/json_file.h tells which file it is.
void put_json(const Option&, void* target, std::string_view value) {
  const bool is_word = !refuse_value(Option{}, value);
  static_cast<RunOptions*>(target)->json = !is_word || option_value::flag(value);
}

constexpr std::array kRunOptions{
    Option{.name = "profile",
           .letter = 'p',
           .scope = Scope::environment,
           .put = put_into<&RunOptions::profiles>,
           .kind = Kind::list,
           .value = "NAME|FILE",
           .fallback = "basic,conservative,no-shm,gloo-fallback",
           .help = "the chain: the profiles to try, in order; repeated or with commas",
           .heading = "Profiles"},
    Option{.name = "cluster",
           .scope = Scope::environment,
           .put = put_into<&RunOptions::cluster>,
           .value = "NAME",
           .fallback = "the first that matches",
           .help = "the cluster rule to use"},
    Option{.name = "config",
           .scope = Scope::environment,
           .put = put_into<&RunOptions::config>,
           .value = "FILE",
           .fallback = "./safelaunch.yaml",
           .help = "the settings file over the user's and the host's"},
    Option{.name = "max-attempts",
           .scope = Scope::config,
           .put = put_into<&RunOptions::max_attempts>,
           .fallback = "one a profile",
           .help = "how many attempts to make in all",
           .range = {1, 1'000},
           .trust = Trust::not_needed},
    Option{.name = "only",
           .scope = Scope::config,
           .put = put_into<&RunOptions::only>,
           .help = "start the job once, with the first profile: watch, and name the cause",
           .trust = Trust::not_needed},
    Option{.name = "fail-on-slow",
           .scope = Scope::config,
           .put = put_into<&RunOptions::fail_on_slow>,
           .help = "never fall back to a slow profile",
           .trust = Trust::not_needed},
    Option{.name = "forget",
           .scope = Scope::environment,
           .put = put_into<&RunOptions::forget>,
           .help = "forget which profile worked in earlier runs"},
    Option{.name = "interactive",
           .scope = Scope::config,
           .put = put_into<&RunOptions::interactive>,
           .help = "show the findings and the profiles with their costs, and ask which"},
    Option{
        .name = "init-timeout",
        .scope = Scope::config,
        .put = put_into<&RunOptions::init_timeout>,
        .fallback = "180s",
        .help = "how long ranks may wait for an idle rank before their first collective (0 = off)",
        .trust = Trust::not_needed,
        .heading = "Deadlines"},
    Option{.name = "collective-timeout",
           .scope = Scope::config,
           .put = put_into<&RunOptions::collective_timeout>,
           .fallback = "180s",
           .help = "how long ranks may wait for an idle rank in the first collective",
           .trust = Trust::not_needed},
    Option{.name = "quiet-timeout",
           .scope = Scope::config,
           .put = put_into<&RunOptions::quiet_timeout>,
           .fallback = "30s",
           .help = "how long ranks may wait for one that nothing outside of it will wake",
           .trust = Trust::not_needed},
    Option{.name = "work-timeout",
           .scope = Scope::config,
           .put = put_into<&RunOptions::work_timeout>,
           .fallback = "30min",
           .help = "how long ranks may wait for one that works, or that safelaunch cannot see",
           .trust = Trust::not_needed},
    Option{.name = "stopped-timeout",
           .scope = Scope::config,
           .put = put_into<&RunOptions::stopped_timeout>,
           .fallback = "30s",
           .help = "how long ranks may wait for one that somebody has stopped (SIGSTOP, a freezer)",
           .trust = Trust::not_needed},
    Option{.name = "start-timeout",
           .scope = Scope::config,
           .put = put_into<&RunOptions::start_timeout>,
           .fallback = "off",
           .help = "end a job whose ranks all stand still for this long although none waits for "
                   "another; off: only say so",
           .trust = Trust::not_needed},
    Option{.name = "stall-timeout",
           .scope = Scope::config,
           .put = put_into<&RunOptions::stall_timeout>,
           .fallback = "auto",
           .help = "tell of training that stands still for this long; auto: twice its longest "
                   "pause, 2min at least",
           .trust = Trust::not_needed},
    Option{.name = "grace",
           .scope = Scope::profile,
           .put = put_into<&RunOptions::grace>,
           .fallback = "30s, or torchrun's own where that is more",
           .help =
               "how long the ranks may save before they are killed; given, it counts from the "
               "first TERM or Ctrl-C, else only for a hang; a second Ctrl-C ends everything now",
           .trust = Trust::not_needed},
    Option{.name = "clean",
           .scope = Scope::profile,
           .put = put_into<&RunOptions::clean>,
           .fallback = "ours",
           .help = "first end what a dead safelaunch left running; never anything else",
           .choices = "off|ours",
           .advice = "a run ends only what safelaunch has started; for others: safelaunch clean",
           .heading = "The host"},
    Option{.name = "port",
           .scope = Scope::profile,
           .put = put_into<&RunOptions::port>,
           .fallback = "auto",
           .help = "the job's port: safelaunch holds a free one, unless you keep yours (29500 "
                   "where safelaunch spawns the ranks and you named none)"},
    Option{.name = "probe",
           .scope = Scope::profile,
           .put = put_into<&RunOptions::probe>,
           .fallback = "auto",
           .help = "find the fastest profile that works, with safelaunch's own workers: after a "
                   "failure in NCCL (auto), also beside the first attempt (always)",
           .choices = "auto|always|never",
           .trust = Trust::not_needed},
    Option{.name = "no-preflight",
           .scope = Scope::config,
           .put = put_off<&RunOptions::preflight>,
           .help = "do not check the host"},
    Option{.name = "no-hook",
           .scope = Scope::profile,
           .put = put_off<&RunOptions::hook>,
           .help = "do not observe through Python",
           .trust = Trust::not_needed},
    Option{.name = "no-plugin",
           .scope = Scope::profile,
           .put = put_off<&RunOptions::plugin>,
           .help = "do not observe through NCCL's profiler interface",
           .trust = Trust::not_needed},
    Option{.name = "nproc-per-node",
           .scope = Scope::config,
           .put = put_into<&RunOptions::nproc_per_node>,
           .value = "N|gpu|cpu|auto",
           .help = "how many workers safelaunch spawns itself, without torchrun",
           .trust = Trust::not_needed,
           .heading = "Own workers"},
    Option{.name = "devices",
           .scope = Scope::config,
           .put = put_into<&RunOptions::devices>,
           .value = "LIST",
           .fallback = "all that are visible",
           .help = "the GPUs to use, such as 0,1",
           .trust = Trust::not_needed},
    Option{.name = "nnodes",
           .scope = Scope::config,
           .put = put_into<&RunOptions::nnodes>,
           .help = "nodes of the job",
           .range = {1, 100'000}},
    Option{.name = "node-rank",
           .scope = Scope::config,
           .put = put_into<&RunOptions::node_rank>,
           .help = "number of this node"},
    Option{.name = "start-rank",
           .scope = Scope::config,
           .put = put_into<&RunOptions::start_rank>,
           .help = "the first rank of this node"},
    Option{.name = "world-size",
           .scope = Scope::config,
           .put = put_into<&RunOptions::world_size>,
           .help = "ranks in all",
           .range = {1, 1'000'000}},
    Option{.name = "master-addr",
           .scope = Scope::config,
           .put = put_into<&RunOptions::master_addr>,
           .value = "HOST",
           .help = "address of rank 0"},
    Option{.name = "master-port",
           .scope = Scope::config,
           .put = put_into<&RunOptions::master_port>,
           .help = "port of rank 0",
           .range = {1, 65'535}},
    Option{.name = "binding",
           .scope = Scope::config,
           .put = put_into<&RunOptions::binding>,
           .fallback = "none",
           .help = "bind each worker to its share of the CPUs",
           .choices = "none|numa|cores",
           .trust = Trust::not_needed},
    Option{.name = "rendezvous",
           .scope = Scope::config,
           .put = put_into<&RunOptions::rendezvous>,
           .value = "URL",
           .fallback = "tcp on node 0",
           .help =
               "where the agents of several nodes agree: tcp://H:P, etcd://H:P, file:///DIR, none"},
    Option{.name = "token-file",
           .scope = Scope::config,
           .put = put_into<&RunOptions::token_file>,
           .value = "FILE",
           .help = "the secret that the agents of all nodes share"},
    Option{.name = "nodes-timeout",
           .scope = Scope::config,
           .put = put_into<&RunOptions::nodes_timeout>,
           .fallback = "10min",
           .help = "how long to wait for missing nodes (0 = for ever)",
           .trust = Trust::not_needed},
    Option{.name = "node-lease",
           .scope = Scope::config,
           .put = put_into<&RunOptions::node_lease>,
           .fallback = "10s",
           .help = "a node that is cut off from the others so long ends its ranks (5s to 1h); the "
                   "same on all nodes",
           .trust = Trust::not_needed},
    Option{.name = "module",
           .letter = 'm',
           .put = put_into<&RunOptions::module>,
           .help = "the command is a Python module, as for python -m",
           .heading = "The command"},
    Option{.name = "set",
           .put = put_into<&RunOptions::set>,
           .value = "NAME=VALUE",
           .help = "set one variable; it overrides every profile"},
    Option{.name = "unset",
           .put = put_into<&RunOptions::unset>,
           .value = "NAME",
           .help = "remove one variable"},
    Option{.name = "ranks",
           .scope = Scope::config,
           .put = put_into<&RunOptions::ranks>,
           .value = "0,3|all",
           .fallback = "all",
           .help = "which ranks reach the terminal; the files always hold all",
           .trust = Trust::not_needed,
           .heading = "Output and record"},
    Option{.name = "prefix",
           .scope = Scope::config,
           .put = put_into<&RunOptions::prefix>,
           .help = "put the rank in front of each line",
           .trust = Trust::not_needed},
    Option{.name = "rank-files",
           .scope = Scope::config,
           .put = put_into<&RunOptions::rank_files>,
           .help = "keep each rank's output in its own file under torchrun and accelerate too, by "
                   "their --tee 3: lines on the screen then begin with the local rank",
           .trust = Trust::not_needed},
    Option{.name = "log-dir",
           .scope = Scope::config,
           .put = put_into<&RunOptions::log_dir>,
           .value = "DIR",
           .fallback = "in the run's directory",
           .help = "where the ranks' output is kept; a later attempt or run goes on in the same "
                   "files"},
    Option{.name = "run-dir",
           .scope = Scope::config,
           .put = put_into<&RunOptions::run_dir>,
           .value = "DIR",
           .fallback = "below ~/.local/state/safelaunch",
           .help = "where everything about this run is kept"},
    Option{.name = "notify",
           .scope = Scope::config,
           .put = put_into<&RunOptions::notify>,
           .kind = Kind::receiver,
           .help = "tell it when the job hangs, stands still, is healed or ends: a command for a "
                   "shell gets a line of JSON on its stdin, a webhook (slack:, feishu:, dingtalk:, "
                   "wecom:, json: before its URL) the text"},
    Option{.name = "metrics",
           .scope = Scope::config,
           .put = put_into<&RunOptions::metrics>,
           .value = "FILE.prom",
           .help = "keep the figures of the run in a file for Prometheus (node_exporter's textfile "
                   "collector)"},
    Option{.name = "keep-runs",
           .scope = Scope::config,
           .put = put_into<&RunOptions::keep_runs>,
           .fallback = "200",
           .help = "how many runs are kept (0 = all)"},
    Option{.name = "keep-days",
           .scope = Scope::config,
           .put = put_into<&RunOptions::keep_days>,
           .fallback = "30",
           .help = "how many days a run is kept (0 = for ever)"},
    Option{.name = "dry-run",
           .scope = Scope::config,
           .put = put_into<&RunOptions::dry_run>,
           .help = "print the plan and do nothing"},
    Option{.name = "json",
           .scope = Scope::config,
           .put = {put_json},
           .value = "FILE",
           .help =
               "with --dry-run the plan as JSON; otherwise the closing report as JSON, on stderr "
               "(stdout is the job's) or in FILE (/dev/fd/3), and always in outcome.json",
           .trust = Trust::not_for_flag},
    Option{.name = "color",
           .scope = Scope::config,
           .put = put_into<&RunOptions::colour>,
           .value = "WHEN",
           .fallback = "auto",
           .help = "whether our words are coloured; auto: on a terminal, as NO_COLOR, "
                   "CLICOLOR_FORCE and TERM say",
           .choices = "auto|always|never",
           .trust = Trust::not_needed},
    Option{.name = "no-color",
           .scope = Scope::config,
           .put = {put_no_colour},
           .help = "--color never",
           .trust = Trust::not_needed},
    Option{.name = "verbose",
           .letter = 'v',
           .scope = Scope::config,
           .put = {put_verbosity<Verbosity::verbose>},
           .help = "say more",
           .rival = "quiet",
           .trust = Trust::not_needed},
    Option{.name = "quiet",
           .letter = 'q',
           .scope = Scope::config,
           .put = {put_verbosity<Verbosity::quiet>},
           .help = "say less",
           .rival = "verbose",
           .trust = Trust::not_needed},
};

}  // namespace

std::span<const Option> run_options() {
  return kRunOptions;
}

std::vector<std::string> words_given(const RunOptions& options) {
  std::vector<std::string> words;
  for (const auto& [name, setting] : options.given) {
    const Option* option = find_run_option(name);
    if (option == nullptr || setting.origin != "--" + name || option->kind == OptionKind::texts)
      continue;
    words.push_back("--" + name);
    const bool says_enough = option->kind == OptionKind::flag && setting.value == "true";
    if (!says_enough) words.back() += "=" + setting.value;
  }
  // Any character may stand in these, so each is a word of its own.
  const auto typed = [&](const char* name) {
    const auto found = options.given.find(name);
    return found != options.given.end() && found->second.origin == std::string("--") + name;
  };
  if (typed("set"))
    for (const std::string& one : options.set) words.push_back("--set=" + one);
  if (typed("unset"))
    for (const std::string& one : options.unset) words.push_back("--unset=" + one);
  return words;
}

const Option* find_run_option(std::string_view name) {
  return find_option(kRunOptions, name);
}

}  // namespace safelaunch::settings
