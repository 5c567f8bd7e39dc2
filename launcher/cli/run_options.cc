#include "run_options.h"

#include <algorithm>
#include <vector>

#include "option_kinds.h"
#include "safelaunch/base/format.h"

namespace safelaunch::cli {
namespace {

template <class T>
void add_choice(CLI::App& app, const char* names, T& target,
                const std::vector<std::pair<std::string, T>>& choices, const char* help) {
  std::vector<std::string> words;
  for (const auto& choice : choices) words.push_back(choice.first);
  const auto read = [&target, choices](const std::string& word) {
    target = std::ranges::find(choices, word, &std::pair<std::string, T>::first)->second;
  };
  const profile::RunOption* option = profile::find_option(std::string_view(names).substr(2));
  add_words(app.add_option_function<std::string>(names, read, help), words,
            option != nullptr ? option->advice : std::string_view());
}

// A flag that turns off what is on by default.
void add_off_switch(CLI::App& app, const char* names, bool& target, const char* help) {
  const auto turn = [&target](std::int64_t times) { target = times <= 0; };
  app.add_flag_function(names, turn, help);
}

void add_profiles(CLI::App& app, run::RunOptions& options) {
  app.add_option("--profile,-p", options.profiles,
                 "the chain: profile names or files, repeated or with commas")
      ->delimiter(',')
      ->type_name("NAME|FILE");
  app.add_option("--cluster", options.cluster, "the cluster rule to use")->type_name("NAME");
  app.add_option("--config", options.config, "the configuration file")->type_name("FILE");
  add_number(app, "--max-attempts", options.max_attempts, 1, 1000, "attempts in all");
  app.add_flag("--only", options.only, "the first profile alone: watch, diagnose, never fall back");
  app.add_flag("--fail-on-slow", options.fail_on_slow, "never fall back to a slow profile");
  app.add_flag("--forget", options.forget, "drop what is remembered of earlier runs");
  app.add_flag("--interactive", options.interactive, "ask which profile to use");
}

void add_deadlines(CLI::App& app, run::RunOptions& options) {
  add_duration(app, "--init-timeout", options.init_timeout,
               "how long ranks may wait for an idle rank before their first collective (0 = off)");
  add_duration(app, "--collective-timeout", options.collective_timeout,
               "the same for the first collective");
  add_duration(app, "--quiet-timeout", options.quiet_timeout,
               "the same for a rank that nothing will wake");
  add_duration(app, "--work-timeout", options.work_timeout, "the same for a rank that works");
  add_duration(app, "--start-timeout", options.start_timeout,
               "end a job whose ranks all stand still for so long, though none waits for another");
  add_duration(app, "--stall-timeout", options.stall_timeout,
               "report training that stands still for so long");
  add_duration(app, "--grace", options.grace,
               "what TERM gives the ranks to save (30s, or torchrun's own where that is more)");
}

void add_host(CLI::App& app, run::RunOptions& options) {
  add_choice<clean::CleanPolicy>(
      app, "--clean", options.clean,
      {{"off", clean::CleanPolicy::off}, {"ours", clean::CleanPolicy::ours}},
      "whether processes of a safelaunch that is gone are ended before the launch");
  app.add_option("--port", options.port, "the job's port")->type_name("keep|auto|N|A-B");
  add_choice<probe::WhenToProbe>(
      app, "--probe", options.probe,
      {{"auto", probe::WhenToProbe::automatic},
       {"always", probe::WhenToProbe::always},
       {"never", probe::WhenToProbe::never}},
      "whether NCCL is probed on the GPUs: after a failure in NCCL (auto), "
      "also beside the first start (always)");
}

void add_topology(CLI::App& app, run::RunOptions& options) {
  constexpr int kMost = 1'000'000;
  app.add_option("--nproc-per-node", options.nproc_per_node, "spawn the workers ourselves")
      ->type_name("N|gpu|cpu|auto");
  app.add_option("--devices", options.devices, "the GPUs to use, such as 0,1")->type_name("LIST");
  add_number(app, "--nnodes", options.nnodes, 1, 100'000, "nodes of the job");
  add_number(app, "--node-rank", options.node_rank, 0, kMost, "number of this node");
  add_number(app, "--start-rank", options.start_rank, 0, kMost, "the first rank of this node");
  add_number(app, "--world-size", options.world_size, 1, kMost, "ranks in all");
  app.add_option("--master-addr", options.master_addr, "address of rank 0")->type_name("HOST");
  add_number(app, "--master-port", options.master_port, 1, 65535, "port of rank 0");
  add_words(
      app.add_option("--binding", options.binding, "bind each worker to its share of the CPUs"),
      {"none", "numa", "cores"});
  app.add_option("--rendezvous", options.rendezvous, "how the agents of several nodes agree")
      ->type_name("URL");
}

void add_environment(CLI::App& app, run::RunOptions& options) {
  app.add_option("--set", options.set, "one variable, over every profile")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--unset", options.unset, "remove one variable")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

void add_output(CLI::App& app, run::RunOptions& options) {
  app.add_option("--log-dir", options.log_dir, "where the ranks' output is kept")->type_name("DIR");
  app.add_option("--run-dir", options.run_dir, "where everything about this run is kept")
      ->type_name("DIR");
  add_number(app, "--keep-runs", options.keep_runs, 0, 1'000'000,
             "how many runs are kept (200; 0 = all)");
  add_number(app, "--keep-days", options.keep_days, 0, 1'000'000,
             "for how long (30; 0 = for ever)");
  app.add_option("--ranks", options.ranks, "which ranks reach the terminal")->type_name("0,3|all");
  app.add_flag("--prefix", options.prefix, "each line with its rank in front");
  add_off_switch(app, "--no-hook", options.hook, "do not observe through Python");
  add_off_switch(app, "--no-plugin", options.plugin,
                 "do not observe through NCCL's profiler interface");
  add_off_switch(app, "--no-preflight", options.preflight, "do not check the host");
  app.add_flag("--dry-run", options.dry_run, "print the plan and do nothing");
  app.add_flag("--json", options.json, "the plan or the closing report as JSON");
  add_off_switch(app, "--no-color", options.colour, "plain text");
  app.add_flag_callback(
      "-v,--verbose", [&] { options.verbosity = Verbosity::verbose; }, "say more");
  app.add_flag_callback(
      "-q,--quiet", [&] { options.verbosity = Verbosity::quiet; }, "say less");
}

// The options of `run`, bound to one RunOptions. Environment names and keys of files are those
// of profile/options.h; a test holds the two lists together.
class Parser {
 public:
  Parser() : app_("", "safelaunch [run]") {
    app_.set_help_flag();
    app_.option_defaults()->take_last();
    add_profiles(app_, options_);
    add_deadlines(app_, options_);
    add_host(app_, options_);
    add_topology(app_, options_);
    add_environment(app_, options_);
    add_output(app_, options_);
    for (const char* several : {"--profile", "--set", "--unset"})
      app_.get_option(several)->take_all();
  }

  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  [[nodiscard]] const CLI::Option* find(const std::string& name) const {
    return app_.get_option_no_throw(name);
  }

  [[nodiscard]] const CLI::App& app() const { return app_; }

  Result<run::RunOptions> parse(std::vector<std::string> words, const OptionDefaults& defaults);

 private:
  Result<void> complete(const std::string& name, const profile::Setting& setting);

  run::RunOptions options_;
  CLI::App app_;
};

Error usage_error(const std::string& message) {
  return Error{Errc::usage, message + " (safelaunch --help lists the options)"};
}

// An option that the command line leaves open takes its value from a setting.
Result<void> Parser::complete(const std::string& name, const profile::Setting& setting) {
  CLI::Option* option = app_.get_option_no_throw("--" + name);
  if (option == nullptr || option->count() != 0) return {};
  try {
    const bool is_flag = option->get_items_expected_max() == 0;
    option->add_result(is_flag ? option->get_flag_value(name, setting.value) : setting.value);
    option->run_callback();
  } catch (const CLI::Error& error) {
    return usage_error(
        fmt::format("{}: {}={}: {}", setting.origin, name, setting.value, error.what()));
  }
  return {};
}

Result<run::RunOptions> Parser::parse(std::vector<std::string> words,
                                      const OptionDefaults& defaults) {
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    app_.parse(std::move(words));
  } catch (const CLI::Error& error) {
    return usage_error(error.what());
  }
  const Result<profile::Settings> settings = defaults(options_.config, options_.cluster);
  if (!settings) return settings.error();
  for (const auto& [name, setting] : *settings) {
    if (const Result<void> done = complete(name, setting); !done) return done.error();
  }
  for (const profile::RunOption& option : profile::run_options())
    if (option.scope == profile::OptionScope::profile &&
        app_.get_option("--" + std::string(option.name))->count() != 0)
      options_.given.emplace(option.name);
  return std::move(options_);
}

// Words consumed by the option that `word` names: 1 with no value or with `=value`, else 2.
Result<std::size_t> option_width(const Parser& parser, const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const CLI::Option* option = parser.find(name);
  if (option == nullptr)
    return usage_error(
        fmt::format("unknown option {}{}", name, did_you_mean_option(parser.app(), name)));
  const bool takes_value = option->get_items_expected_max() > 0;
  return std::size_t{takes_value && equals == std::string::npos ? 2U : 1U};
}

Result<std::size_t> begin_of_command(const Parser& parser, std::span<const std::string> words) {
  for (std::size_t i = 0; i < words.size();) {
    if (words[i] == "--") return i + 1;
    if (!words[i].starts_with("-") || words[i] == "-") return i;
    const Result<std::size_t> width = option_width(parser, words[i]);
    if (!width) return width.error();
    i += *width;
  }
  return words.size();
}

}  // namespace

Result<run::RunOptions> parse_run_options(std::span<const std::string> words,
                                          const OptionDefaults& defaults) {
  Parser parser;
  const Result<std::size_t> begin = begin_of_command(parser, words);
  if (!begin) return begin.error();
  const auto command = words.begin() + static_cast<std::ptrdiff_t>(std::min(*begin, words.size()));
  std::vector<std::string> head(words.begin(), command);
  if (!head.empty() && head.back() == "--") head.pop_back();
  Result<run::RunOptions> options = parser.parse(std::move(head), defaults);
  if (!options) return options;
  options->command.assign(command, words.end());
  if (options->command.empty()) return usage_error("there is no command to run");
  return options;
}

std::vector<std::string> run_option_names() {
  const Parser parser;
  std::vector<std::string> names;
  for (const CLI::Option* option : parser.app().get_options())
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  return names;
}

std::string run_help() {
  const Parser parser;
  return options_in_words(parser.app());
}

}  // namespace safelaunch::cli
