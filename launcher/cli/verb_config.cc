#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "check_file.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/plan/plan.h"
#include "verb_texts.h"
#include "verb_wishes.h"
#include "verbs.h"

// `config` tells what a run would take from files, and from which. Keys are written as `lock` takes
// them.
namespace safelaunch::cli {
namespace {

using Json = nlohmann::ordered_json;
using Layers = std::span<const profile::ConfigLayer>;

// A locked "env" locks "env.NCCL_DEBUG" too.
// The nearest file that takes a variable away; the list of such variables keeps no places.
std::string file_that_unsets(const std::string& variable, std::string_view cluster, Layers layers) {
  std::string file;
  for (const profile::ConfigLayer& layer : layers) {
    if (!layer.config) continue;
    const auto unset = profile::rules_for(*layer.config, profile::rule_of(*layer.config, cluster));
    if (std::ranges::find(unset.variables.unset, variable) != unset.variables.unset.end())
      file = layer.place.path;
  }
  return file;
}

std::string state_of(const profile::ConfigLayer& layer) {
  if (layer.refusal) return "refused: " + layer.refusal->message;
  if (layer.passed_over) return "refused: " + *layer.passed_over;
  return layer.config ? "read" : "not there";
}

Json places_as_json(Layers layers) {
  Json places = Json::array();
  for (const profile::ConfigLayer& layer : layers)
    places.push_back({{"path", layer.place.path}, {"state", state_of(layer)}});
  return places;
}

std::string dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int show_settings(const Environment& environment, Layers layers, bool json) {
  const Result<plan::Configuration> configuration = plan::read_configuration({}, {}, environment);
  if (!configuration) return refuse(configuration.error());
  for (const std::string& warning : configuration->warnings) warn(warning);
  redact::Redactor redactor;
  redactor.learn(environment);
  const auto settings = settings_shown(*configuration, layers, redactor);
  return answer(json ? settings_json(settings, layers) : render_settings(settings));
}

// All files are checked, so that one call tells all mistakes.
int check_files(std::vector<std::string> files, const Environment& environment, Layers layers) {
  if (files.empty())
    for (const profile::ConfigLayer& layer : layers)
      if (state_of(layer) != "not there") files.push_back(layer.place.path);
  if (files.empty())
    return answer(tr("there is no safelaunch.yaml here, and none is needed") + "\n");
  int status = 0;
  for (const std::string& file : files) {
    const int one = tell(check_file(file, profile::FileKind::config, environment));
    if (status == 0) status = one;
  }
  return status;
}

constexpr std::array kConfigOptions{
    settings::Option{.name = "json",
                     .put = settings::put_into<&ConfigWords::json>,
                     .help = "as JSON (show, path)"},
};

int tell_of_config(const ConfigWords& given, const std::vector<std::string>& rest) {
  const Result<ConfigWish> wish = config_wish(rest);
  if (!wish) return refuse(wish.error());
  if (given.json && wish->show == ConfigWish::Show::check)
    return refuse({Errc::usage, "config check has no JSON; config show and config path have"});
  const Environment environment = current_environment();
  const auto layers = profile::read_layers(profile::config_places({}, environment));
  switch (wish->show) {
    case ConfigWish::Show::settings: return show_settings(environment, layers, given.json);
    case ConfigWish::Show::check: return check_files(wish->files, environment, layers);
    case ConfigWish::Show::places:
      return answer(given.json ? places_json(layers) : render_places(layers));
  }
  return 0;
}

constexpr std::string_view kConfigWords = "show|check|path";

}  // namespace

Result<ConfigWish> config_wish(std::span<const std::string> words) {
  if (words.empty()) return ConfigWish{};
  const std::vector<std::string_view> known = settings::words_of(kConfigWords);
  const auto word = std::ranges::find(known, words[0]);
  if (word == known.end())
    return Error{Errc::usage, fmt::format("config does not know '{}'{} (show, check [FILE…], path)",
                                          words[0], did_you_mean(words[0], known))};
  ConfigWish wish{static_cast<ConfigWish::Show>(word - known.begin()),
                  {words.begin() + 1, words.end()}};
  if (wish.show != ConfigWish::Show::check && !wish.files.empty())
    return Error{Errc::usage, fmt::format("config {} takes no '{}'", words[0], words[1])};
  return wish;
}

std::vector<ShownSetting> settings_shown(const plan::Configuration& configuration, Layers layers,
                                         const redact::Redactor& redactor) {
  const profile::Rules& rules = configuration.rules;
  std::vector<ShownSetting> shown;
  const auto add = [&](std::string key, std::string value, std::string origin) {
    const bool locked = profile::lock_of(configuration.locks, key) != nullptr;
    shown.push_back({std::move(key), std::move(value), std::move(origin), locked});
  };
  if (!configuration.cluster.empty())
    add("cluster", configuration.cluster, to_string(configuration.cluster_place));
  if (!rules.chain.empty()) add("chain", join(rules.chain, ", "), to_string(rules.chain_place));
  for (const auto& [name, setting] : rules.variables.env)
    add("env." + name, redactor.redact(name, setting.value), to_string(setting.place));
  for (const std::string& name : rules.variables.unset)
    add("env." + name, "(taken away)", file_that_unsets(name, configuration.cluster, layers));
  for (const auto& [name, setting] : configuration.settings)
    add("options." + name, redactor.redact(name, setting.value), setting.origin);
  return shown;
}

std::string render_settings(std::span<const ShownSetting> settings) {
  if (settings.empty()) return tr("no file and no variable sets anything here") + "\n";
  std::size_t keys = 0;
  std::size_t values = 0;
  for (const ShownSetting& one : settings) {
    keys = std::max(keys, one.key.size());
    values = std::max(values, one.value.size());
  }
  std::string text;
  for (const ShownSetting& one : settings)
    text += fmt::format("{:{}}  {:{}}  {}{}\n", one.key, keys, one.value, values, one.origin,
                        one.locked ? "  " + tr("(locked)") : "");
  return text;
}

std::string settings_json(std::span<const ShownSetting> settings, Layers layers) {
  Json json{{"files", places_as_json(layers)}, {"settings", Json::array()}};
  for (const ShownSetting& one : settings)
    json["settings"].push_back(
        {{"key", one.key}, {"value", one.value}, {"origin", one.origin}, {"locked", one.locked}});
  return dumped(json);
}

std::string render_places(Layers layers) {
  std::size_t width = 0;
  for (const profile::ConfigLayer& layer : layers) width = std::max(width, layer.place.path.size());
  std::string text;
  for (const profile::ConfigLayer& layer : layers)
    text += fmt::format("{:{}}  {}\n", layer.place.path, width, tr(state_of(layer)));
  return text;
}

std::string places_json(Layers layers) {
  return dumped(places_as_json(layers));
}

const Verb kConfigVerb{
    .name = "config",
    .function = reads<ConfigWords, tell_of_config>,
    .help = "show | check [FILE…] | path: the settings that hold here, and their files",
    .usage = "[show | check [FILE...] | path] [OPTIONS]",
    .purpose =
        "Shows the settings that hold here, and which file or variable says each. Checks "
        "safelaunch.yaml: FILE, or the files that a run would read here. Prints the files that are "
        "looked at, the lowest first, and whether each is read, not there, or refused.",
    .example = "safelaunch config show\nsafelaunch config check safelaunch.yaml",
    .options = kConfigOptions,
    .words = kConfigWords,
    .takes = kManyWords};

}  // namespace safelaunch::cli
