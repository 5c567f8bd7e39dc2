#include "safelaunch/profile/layers.h"

#include <algorithm>
#include <filesystem>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/profile/trust.h"
#include "safelaunch/settings/run_options.h"

// An administrator's file lies below a user's, and that below the folder's. The host's file alone
// may lock keys. The working directory may be anybody's, so a file there that was not named may
// only do what does no harm.
namespace safelaunch::profile {
namespace {

using Whose = ConfigPlace::Whose;

constexpr const char* kFileName = "safelaunch.yaml";

class LockCheck {
 public:
  explicit LockCheck(std::span<const LockedKey> locks) : locks_(locks) {}

  void look_at(const YamlNode& map);
  [[nodiscard]] Mistakes mistakes() && { return std::move(mistakes_); }

 private:
  void look_at(const YamlEntry& entry);
  void look_at_option(const YamlEntry& option);
  void judge(const std::string& key, const Place& place);

  std::span<const LockedKey> locks_;
  Mistakes mistakes_;
};

void LockCheck::judge(const std::string& key, const Place& place) {
  if (const LockedKey* lock = lock_of(locks_, key))
    mistakes_.add({place, fmt::format("{} is locked by {}", key, to_string(lock->place))});
}

// "quiet: true" takes back what "verbose" says, so a lock of one holds for both.
void LockCheck::look_at_option(const YamlEntry& option) {
  judge(fmt::format("options.{}", option.key), option.place);
  const settings::Option* row = settings::find_run_option(option.key);
  if (row != nullptr && !row->rival.empty() && lock_of(locks_, "options") == nullptr)
    judge(fmt::format("options.{}", row->rival), option.place);
}

void LockCheck::look_at(const YamlEntry& entry) {
  const YamlNode& value = entry.value;
  if (entry.key == "chain") judge("chain", entry.place);
  if (entry.key == "env")
    for (const YamlEntry& variable : value.entries)
      judge(fmt::format("env.{}", variable.key), variable.place);
  if (entry.key == "unset")
    for (const YamlNode& variable : value.items)
      judge(fmt::format("env.{}", variable.text), variable.place);
  if (entry.key == "options")
    for (const YamlEntry& option : value.entries) look_at_option(option);
  if (entry.key != "clusters") return;
  for (const YamlNode& rule : value.items) {
    const YamlNode* name = rule.find("name");
    judge(fmt::format("clusters.{}", name == nullptr ? "" : name->text), rule.place);
    look_at(rule);
  }
}

void LockCheck::look_at(const YamlNode& map) {
  for (const YamlEntry& entry : map.entries) look_at(entry);
}

bool is_same_file(const std::string& one, const std::string& other) {
  std::error_code none;
  return std::filesystem::equivalent(one, other, none);
}

// Why a file that nobody has named decides nothing here.
std::optional<std::string> why_passed_over(const ConfigLayer& layer,
                                           std::span<const LockedKey> locks) {
  const Result<YamlNode> root = parse_yaml(layer.text, layer.place.path);
  if (!root) return std::nullopt;  // its mistakes are told
  if (const auto why = what_needs_trust(*root))
    return fmt::format("it {}; `--config ./{}` says that you trust it", *why, kFileName);
  const Mistakes locked = mistakes_under_locks(*root, locks);
  return locked.empty() ? std::nullopt : std::optional(error_of(locked).message);
}

Result<Config> config_of(const ConfigLayer& layer, std::span<const LockedKey> locks) {
  const std::string& path = layer.place.path;
  const Result<YamlNode> root = parse_yaml(layer.text, path);
  if (!root) return root.error();
  if (layer.place.whose != Whose::host)
    if (const Mistakes locked = mistakes_under_locks(*root, locks); !locked.empty())
      return error_of(locked);
  return config_in(*root, path);
}

ConfigLayer read_layer(const ConfigPlace& place, std::span<const LockedKey> locks) {
  ConfigLayer layer{.place = place};
  Result<std::optional<std::string>> text = read_trusted_file(place.path);
  if (!text && place.whose == Whose::folder)
    layer.passed_over = text.error().message;
  else if (!text)
    layer.refusal = text.error();
  else if (!*text && !place.named_by.empty())
    layer.refusal = Error{Errc::bad_config, fmt::format("{}: there is no such file ({})",
                                                        place.path, place.named_by)};
  if (!text || !*text) return layer;
  layer.text = std::move(**text);
  if (place.whose == Whose::folder) layer.passed_over = why_passed_over(layer, locks);
  if (layer.passed_over) return layer;
  Result<Config> config = config_of(layer, locks);
  if (config)
    layer.config = std::move(*config);
  else
    layer.refusal = config.error();
  return layer;
}

// The rule of that name as all layers together make it.
ClusterRule combined_rule(std::span<const ConfigLayer> layers, const std::string& name) {
  ClusterRule all;
  all.name = name;
  for (const ConfigLayer& layer : layers) {
    if (!layer.config) continue;
    const ClusterRule* rule = rule_of(*layer.config, name);
    all.rules = overlay(std::move(all.rules), rules_for(*layer.config, rule));
    if (rule == nullptr) continue;
    all.place = rule->place;
    if (!rule->match.empty()) all.match = rule->match;
  }
  return all;
}

}  // namespace

std::vector<ConfigPlace> config_places(std::string_view given, const Environment& environment) {
  std::vector<ConfigPlace> places{{Whose::host, fmt::format("/etc/safelaunch/{}", kFileName)}};
  if (const std::string user = user_config_folder(environment); !user.empty())
    places.push_back({Whose::user, fmt::format("{}/{}", user, kFileName)});
  const std::string_view variable = value_or(environment, "SAFELAUNCH_CONFIG");
  ConfigPlace top{Whose::folder, kFileName};
  if (!given.empty())
    top = {Whose::named, std::string(given), "--config"};
  else if (!variable.empty())
    top = {Whose::named, std::string(variable), "SAFELAUNCH_CONFIG"};
  const auto is_top = [&](const ConfigPlace& place) { return is_same_file(place.path, top.path); };
  if (std::ranges::none_of(places, is_top)) places.push_back(std::move(top));
  return places;
}

Mistakes mistakes_under_locks(const YamlNode& root, std::span<const LockedKey> locks) {
  LockCheck check(locks);
  check.look_at(root);
  Mistakes mistakes = std::move(check).mistakes();
  for (const YamlEntry& entry : root.entries)
    if (entry.key == "lock")
      mistakes.add({entry.place, fmt::format("lock holds in /etc/safelaunch/{} alone", kFileName)});
  return mistakes;
}

std::vector<ConfigLayer> read_layers(std::span<const ConfigPlace> places) {
  std::vector<ConfigLayer> layers;
  std::vector<LockedKey> locks;
  for (const ConfigPlace& place : places) {
    layers.push_back(read_layer(place, locks));
    if (place.whose == Whose::host && layers.back().config) locks = layers.back().config->locks;
  }
  return layers;
}

Config combined(std::span<const ConfigLayer> layers) {
  Config all;
  for (const ConfigLayer& layer : layers) {
    if (!layer.config) continue;
    const Config& config = *layer.config;
    all.origin = all.origin.empty() ? config.origin : config.origin + ", " + all.origin;
    all.everywhere = overlay(std::move(all.everywhere), config.everywhere);
    if (layer.place.whose == Whose::host) all.locks = config.locks;
  }
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    if (!layer->config) continue;
    for (const ClusterRule& rule : layer->config->clusters)
      if (rule_of(all, rule.name) == nullptr)
        all.clusters.push_back(combined_rule(layers, rule.name));
  }
  return all;
}

Result<FoundConfig> find_config(std::string_view given, const Environment& environment) {
  const std::vector<ConfigLayer> layers = read_layers(config_places(given, environment));
  FoundConfig found;
  for (const ConfigLayer& layer : layers) {
    if (layer.refusal) return *layer.refusal;
    if (layer.passed_over)
      found.warnings.push_back(
          fmt::format("./{} is passed over: {}", kFileName, *layer.passed_over));
    if (layer.config && layer.place.whose == Whose::folder) found.unasked = layer.text;
  }
  found.config = combined(layers);
  return found;
}

}  // namespace safelaunch::profile
