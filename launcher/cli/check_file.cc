#include "check_file.h"

#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/profile/layers.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/profile/profile_text.h"
#include "safelaunch/profile/trust.h"
#include "safelaunch/profile/variables.h"
#include "verbs.h"

// People write two kinds of files, and mix them up. `profiles check` and `config check` tell them
// apart and check each as what it is.
namespace safelaunch::cli {
namespace {

using profile::FileKind;

bool is_file(std::string_view word) {
  return word.find('/') != word.npos || word.ends_with(".yaml") || word.ends_with(".yml");
}

std::vector<const profile::Rules*> all_rules(const profile::Config& config) {
  std::vector<const profile::Rules*> all{&config.everywhere};
  for (const profile::ClusterRule& cluster : config.clusters) all.push_back(&cluster.rules);
  return all;
}

Result<void> check_chains(const profile::Config& config, const Environment& environment) {
  profile::ProfileLibrary library = profile::ProfileLibrary::standard(environment);
  for (const profile::Rules* rules : all_rules(config)) {
    const auto read = library.load_chain(rules->chain, to_string(rules->chain_place));
    if (!read) return read.error();
  }
  return {};
}

bool is_of_host(const std::string& file) {
  return profile::config_places(file, {}).back().whose == profile::ConfigPlace::Whose::host;
}

std::vector<profile::LockedKey> locks_over(const std::string& file) {
  if (is_of_host(file)) return {};
  const std::vector<profile::ConfigPlace> places = profile::config_places(file, {});
  const auto host = profile::read_layers(std::span(places).first(1)).front();
  return host.config ? host.config->locks : std::vector<profile::LockedKey>();
}

// A file that locks keys is written for the host, wherever it lies while somebody checks it.
profile::Mistakes locked_keys(const profile::YamlNode& root, const std::string& file) {
  if (root.find("lock") != nullptr) return {};
  return profile::mistakes_under_locks(root, locks_over(file));
}

Result<std::string> check_profile(const std::string& word, const Environment& environment) {
  profile::ProfileLibrary library = profile::ProfileLibrary::standard(environment);
  const Result<profile::Profile> profile = library.load(word);
  for (const std::string& warning : library.take_warnings()) warn(warning);
  if (!profile) return profile.error();
  if (const auto unknown = plan::unknown_causes(*profile)) return *unknown;
  return profile::render_check(*profile);
}

}  // namespace

Result<std::string> check_config(const profile::YamlNode& root, const std::string& file,
                                 const Environment& environment) {
  const Result<profile::Config> config = profile::config_in(root, file);
  if (!config) return config.error();
  if (const profile::Mistakes locked = locked_keys(root, file); !locked.empty())
    return error_of(locked);
  if (const Result<void> chains = check_chains(*config, environment); !chains)
    return chains.error();
  std::string text = tr("{}: the settings are good", file) + "\n";
  for (const profile::Rules* rules : all_rules(*config))
    for (const std::string& warning : profile::warnings_for(rules->variables.env))
      text += tr("warning: {}", tr(warning)) + "\n";
  if (root.find("lock") != nullptr && !is_of_host(file))
    text +=
        tr("note: lock: holds in /etc/safelaunch/safelaunch.yaml alone; a run refuses this file "
           "elsewhere") +
        "\n";
  if (const auto why = profile::what_needs_trust(root))
    text += tr("note: {}, so it holds only where somebody names it, in ~/.config/safelaunch or in "
               "/etc/safelaunch; as ./safelaunch.yaml it is passed over",
               tr(fmt::format("it {}", *why))) +
            "\n";
  return text;
}

Result<std::string> check_file(const std::string& word, FileKind otherwise,
                               const Environment& environment) {
  if (!is_file(word) && otherwise == FileKind::profile) return check_profile(word, environment);
  const Result<std::optional<std::string>> text = profile::read_trusted_file(word);
  if (!text) return text.error();
  if (!*text && otherwise == FileKind::profile) return check_profile(word, environment);
  if (!*text) return Error{Errc::bad_config, fmt::format("{}: there is no such file", word)};
  const Result<profile::YamlNode> root = profile::parse_yaml(**text, word);
  if (!root) return root.error();
  if (profile::kind_of_file(*root, word, otherwise) == FileKind::config)
    return check_config(*root, word, environment);
  return check_profile(is_file(word) ? word : "./" + word, environment);
}

}  // namespace safelaunch::cli
