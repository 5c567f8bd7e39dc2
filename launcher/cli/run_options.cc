#include "run_options.h"

#include "safelaunch/base/format.h"
#include "verbs.h"

namespace safelaunch::cli {
namespace {

// An option that the command line leaves open takes its value from a setting.
Result<void> complete(settings::RunOptions& options, const std::string& name,
                      const settings::Setting& setting) {
  if (!options.given.try_emplace(name, setting).second) return {};
  const settings::Option* option = settings::find_run_option(name);
  if (option == nullptr) return Error{Errc::usage, setting.origin + ": there is no option " + name};
  if (const auto why = settings::refuse_value(*option, setting.value))
    return Error{Errc::usage, fmt::format("{}: {}: {}", setting.origin, name, *why)};
  option->put(*option, &options, setting.value);
  return {};
}

}  // namespace

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
  for (const auto& [name, setting] : *settings)
    if (const Result<void> done = complete(options, name, setting); !done) return done.error();
  if (options.command.empty())
    return Error{Errc::usage, "there is no command to run (safelaunch --help lists the options)"};
  return options;
}

}  // namespace safelaunch::cli
