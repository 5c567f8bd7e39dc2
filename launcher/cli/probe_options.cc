#include "safelaunch/cli/probe_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "safelaunch/base/format.h"

namespace safelaunch {
namespace {

void add_duration(CLI::App& app, const char* name, std::optional<Duration>& target,
                  const char* help) {
  const auto read = [&target, name](const std::string& text) {
    const Result<Duration> parsed = parse_duration(text);
    if (!parsed) throw CLI::ValidationError(name, parsed.error().message);
    target = *parsed;
  };
  app.add_option_function<std::string>(name, read, help)->type_name("TIME");
}

void add_what(CLI::App& app, ProbeOptions& options) {
  app.add_option("--profile,-p", options.profiles, "profiles to probe, repeated or with commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME|FILE");
  app.add_flag("--all", options.all, "probe every profile, and say which is the fastest")
      ->excludes("--profile");
  app.add_option("--cluster", options.cluster, "the cluster rule to use")->type_name("NAME");
  app.add_option("--config", options.config, "the configuration file")->type_name("FILE");
  app.add_option("--set", options.set, "one variable, over every profile")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--unset", options.unset, "remove one variable")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

void add_where(CLI::App& app, ProbeOptions& options) {
  app.add_option("--ranks", options.ranks, "how many ranks (one a GPU)")
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("N");
  app.add_option("--devices", options.devices, "the GPUs to use, such as 0,1")->type_name("LIST");
  app.add_option("--nccl", options.nccl, "the libnccl to probe (the one that COMMAND would load)")
      ->type_name("FILE");
}

void add_limits(CLI::App& app, ProbeOptions& options) {
  add_duration(app, "--driver-timeout", options.driver_timeout,
               "how long the CUDA driver may take to answer (30s)");
  add_duration(app, "--init-timeout", options.init_timeout,
               "how long NCCL may take to make a communicator (30s)");
  add_duration(app, "--collective-timeout", options.collective_timeout,
               "how long the first all_reduce may take (20s)");
}

/// The options of `probe`, bound to one ProbeOptions.
class ProbeParser {
 public:
  ProbeParser() : app_("", "safelaunch probe") {
    app_.set_help_flag();
    app_.prefix_command();
    add_what(app_, options_);
    add_where(app_, options_);
    add_limits(app_, options_);
    app_.add_flag("--json", options_.json, "the result as JSON");
  }
  ProbeParser(const ProbeParser&) = delete;
  ProbeParser& operator=(const ProbeParser&) = delete;

  [[nodiscard]] std::string help() const { return app_.help(); }

  Result<ProbeOptions> parse(std::span<const std::string> words) {
    std::vector<std::string> rest(words.rbegin(), words.rend());  // CLI11 takes them from the back
    try {
      app_.parse(std::move(rest));
    } catch (const CLI::Error& error) {
      return Error{Errc::usage,
                   fmt::format("{} (safelaunch probe --help lists the options)", error.what())};
    }
    options_.command = app_.remaining();
    if (!options_.command.empty() && options_.command.front() == "--")
      options_.command.erase(options_.command.begin());
    return check();
  }

 private:
  Result<ProbeOptions> check() {
    if (options_.command.empty() || !options_.command.front().starts_with('-'))
      return std::move(options_);
    return Error{Errc::usage, fmt::format("probe does not take '{}' (safelaunch probe --help lists "
                                          "the options)",
                                          options_.command.front())};
  }

  ProbeOptions options_;
  CLI::App app_;
};

}  // namespace

Result<ProbeOptions> parse_probe_options(std::span<const std::string> words) {
  return ProbeParser().parse(words);
}

std::string probe_help() {
  const std::string text = ProbeParser().help();
  return "Usage: safelaunch probe [OPTIONS] [--] [COMMAND [ARG...]]\n\n"
         "Lets NCCL make a communicator and reduce over the GPUs of this host, under one profile "
         "after\nthe other, and says which works and which is the fastest. COMMAND is not run; its "
         "Python tells\nwhich NCCL it would load.\n\n" +
         text.substr(text.find("Options:"));
}

}  // namespace safelaunch
