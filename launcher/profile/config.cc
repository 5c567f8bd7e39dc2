#include "safelaunch/profile/config.h"

#include <arpa/inet.h>

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/profile/chain.h"
#include "safelaunch/profile/yaml_file.h"
#include "safelaunch/settings/run_options.h"

// The text of one safelaunch.yaml becomes rules, and a cluster rule stands over the rest of its
// file. layers.cc puts the files of a host together.
namespace safelaunch::profile {
namespace {

using Bytes = std::vector<unsigned char>;

// An address as its 4 or 16 bytes; empty for what is none.
Bytes address_bytes(std::string_view text) {
  const std::string word(text);
  Bytes bytes(sizeof(in6_addr));
  if (inet_pton(AF_INET6, word.c_str(), bytes.data()) == 1) return bytes;
  if (inet_pton(AF_INET, word.c_str(), bytes.data()) != 1) return {};
  bytes.resize(sizeof(in_addr));
  return bytes;
}

struct Network {
  Bytes base;
  unsigned bits = 0;
};

std::optional<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  Bytes base = address_bytes(text.substr(0, slash));
  const auto bits = to_number<unsigned>(text.substr(slash + 1));
  if (base.empty() || !bits || *bits > 8 * base.size()) return std::nullopt;
  return Network{std::move(base), *bits};
}

bool same_bits(const Bytes& a, const Bytes& b, unsigned bits) {
  for (unsigned bit = 0; bit < bits; ++bit) {
    const auto mask = static_cast<unsigned char>(0x80U >> bit % 8);
    if (((a[bit / 8] ^ b[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

constexpr std::size_t kLongestPattern = 200;
constexpr std::size_t kLongestText = 300;

RE2::Options options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_encoding(RE2::Options::EncodingLatin1);  // a host name may be any bytes
  options.set_max_mem(1 << 20);
  return options;
}

RE2 compiled(std::string_view pattern) {
  return RE2(re2::StringPiece(pattern.data(), pattern.size()), options());
}

re2::StringPiece beginning(std::string_view text) {
  return {text.data(), std::min(text.size(), kLongestText)};
}

bool hostname_matches(std::string_view pattern, std::string_view hostname) {
  return matches_whole(pattern, hostname) ||
         matches_whole(pattern, hostname.substr(0, hostname.find('.')));
}

}  // namespace

// The conditions of a cluster rule are judged by themselves: whether they are well formed, when the
// file is read, and whether they hold, when the host is known. Patterns run under RE2, so a pattern
// costs linear time whatever it is.

bool matches_whole(std::string_view pattern, std::string_view text) {
  return RE2::FullMatch(beginning(text), compiled(pattern));
}

bool occurs_in(std::string_view pattern, std::string_view text) {
  return RE2::PartialMatch(beginning(text), compiled(pattern));
}

bool is_in_network(std::string_view address, std::string_view network) {
  const std::optional<Network> parsed = parse_network(network);
  const Bytes bytes = address_bytes(address);
  return parsed && bytes.size() == parsed->base.size() &&
         same_bits(bytes, parsed->base, parsed->bits);
}

bool ClusterMatch::empty() const {
  return hostname.empty() && gpu.empty() && env.empty() && network.empty();
}

const LockedKey* lock_of(std::span<const LockedKey> locks, std::string_view key) {
  const auto holds = [&](const LockedKey& lock) {
    return lock.key == key || lock.key == key.substr(0, key.find('.'));
  };
  const auto found = std::ranges::find_if(locks, holds);
  return found == locks.end() ? nullptr : &*found;
}

const ClusterRule* rule_of(const Config& config, std::string_view name) {
  const auto found = std::ranges::find(config.clusters, name, &ClusterRule::name);
  return found == config.clusters.end() ? nullptr : &*found;
}

bool asks_for_gpus(const Config& config) {
  return std::any_of(config.clusters.begin(), config.clusters.end(),
                     [](const ClusterRule& rule) { return !rule.match.gpu.empty(); });
}

bool matches(const ClusterMatch& match, const ClusterHost& host) {
  const auto is_gpu = [&](const std::string& gpu) { return occurs_in(match.gpu, gpu); };
  const auto is_there = [&](const std::string& address) {
    return is_in_network(address, match.network);
  };
  const auto has_value = [&](const auto& wanted) {
    const auto found = host.environment.find(wanted.first);
    return found != host.environment.end() && matches_whole(wanted.second, found->second);
  };
  // A rule without conditions is for --cluster NAME alone.
  if (match.empty()) return false;
  if (!match.hostname.empty() && !hostname_matches(match.hostname, host.hostname)) return false;
  if (!match.gpu.empty() && std::none_of(host.gpus.begin(), host.gpus.end(), is_gpu)) return false;
  if (!match.network.empty() &&
      std::none_of(host.addresses.begin(), host.addresses.end(), is_there))
    return false;
  return std::all_of(match.env.begin(), match.env.end(), has_value);
}

Result<const ClusterRule*> choose_cluster(const Config& config, std::string_view name,
                                          const ClusterHost& host) {
  std::vector<std::string_view> names;
  for (const ClusterRule& rule : config.clusters) {
    if (name.empty() ? matches(rule.match, host) : rule.name == name) return &rule;
    names.push_back(rule.name);
  }
  if (name.empty()) return nullptr;
  if (config.origin.empty())
    return Error{Errc::usage, fmt::format("--cluster {}: there is no safelaunch.yaml here, which "
                                          "would hold the rule; --config names one elsewhere",
                                          name)};
  return Error{Errc::usage, fmt::format("--cluster {}: there is no such rule in {}{}", name,
                                        config.origin, did_you_mean(name, names))};
}

Rules overlay(Rules lower, const Rules& upper) {
  if (!upper.chain.empty()) {
    lower.chain = upper.chain;
    lower.chain_place = upper.chain_place;
  }
  for (const auto& [name, setting] : upper.variables.env) {
    lower.variables.env[name] = setting;
    // The upper word on a variable replaces the opposite word below.
    std::erase(lower.variables.unset, name);
  }
  for (const std::string& name : upper.variables.unset) {
    lower.variables.env.erase(name);
    std::erase(lower.variables.unset, name);
    lower.variables.unset.push_back(name);
  }
  lower.options = settings::overlay(std::move(lower.options), upper.options);
  return lower;
}

Rules rules_for(const Config& config, const ClusterRule* cluster) {
  return cluster == nullptr ? config.everywhere : overlay(config.everywhere, cluster->rules);
}

std::optional<std::string> refuse_network(std::string_view network) {
  if (parse_network(network)) return std::nullopt;
  return fmt::format("'{}' is not a network such as 10.8.0.0/16 or fd00::/8", network);
}

std::optional<std::string> refuse_pattern(std::string_view pattern) {
  if (pattern.empty()) return "the pattern is empty";
  if (pattern.size() > kLongestPattern)
    return fmt::format("the pattern is longer than {} characters", kLongestPattern);
  if (const RE2 read(re2::StringPiece(pattern.data(), pattern.size()), options()); !read.ok())
    return fmt::format("'{}' is not a regular expression: {}", pattern, read.error());
  return std::nullopt;
}

namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kFileKeys{"chain"sv, "env"sv, "unset"sv, "options"sv, "clusters"sv, "lock"sv};
constexpr std::array kOfConfigAlone{"chain"sv, "clusters"sv, "lock"sv};
constexpr std::array kOfProfileAlone{"name"sv,    "extends"sv, "heals"sv,     "timeouts"sv,
                                     "backend"sv, "args"sv,    "processes"sv, "description"sv};
constexpr std::array kClusterKeys{"name"sv, "match"sv, "chain"sv, "env"sv, "unset"sv, "options"sv};
constexpr std::array kMatchKeys{"hostname"sv, "gpu"sv, "env"sv, "network"sv};

using Refusal = std::optional<std::string> (*)(std::string_view);

// Reads a word that `refuse` must accept.
void read_checked(YamlReader& reader, std::string_view key, Refusal refuse, std::string& word) {
  reader.read_with(key, [&](const YamlNode& node) -> Mistakes {
    const auto why = node.kind == YamlNode::Kind::scalar ? refuse(node.text)
                                                         : std::optional<std::string>("not a word");
    if (why) return Mistake{node.place, fmt::format("{}: {}", key, *why)};
    word = node.text;
    return {};
  });
}

Mistakes read_env_match(const YamlNode& node, ClusterMatch& match) {
  if (node.kind != YamlNode::Kind::map)
    return Mistake{node.place, "env must be a map of variables to patterns"};
  Mistakes mistakes;
  for (const YamlEntry& entry : node.entries) {
    if (!is_variable_name(entry.key))
      mistakes.add({entry.place, fmt::format("'{}' is not a variable name", entry.key)});
    if (const auto why = refuse_pattern(entry.value.text))
      mistakes.add({entry.value.place, fmt::format("{}: {}", entry.key, *why)});
    match.env[entry.key] = entry.value.text;
  }
  return mistakes;
}

Mistakes read_match(const YamlNode& node, ClusterMatch& match) {
  YamlReader reader(node, "match", kMatchKeys);
  read_checked(reader, "hostname", refuse_pattern, match.hostname);
  read_checked(reader, "gpu", refuse_pattern, match.gpu);
  read_checked(reader, "network", refuse_network, match.network);
  reader.read_with("env", [&](const YamlNode& value) { return read_env_match(value, match); });
  if (reader.well_so_far() && match.empty())
    reader.fail(node.place,
                "match has no condition; what holds everywhere stands at the top level");
  return reader.mistakes();
}

Mistakes read_chain(const YamlNode& node, Rules& rules) {
  YamlNode one;
  one.items = {node};
  const YamlNode& list = node.kind == YamlNode::Kind::list ? node : one;
  std::vector<std::string> words;
  for (const YamlNode& item : list.items) {
    if (item.kind != YamlNode::Kind::scalar)
      return Mistake{item.place, "chain must be a list of profiles"};
    words.push_back(item.text);
  }
  const Result<std::vector<std::string>> chain = parse_chain(words);
  if (chain.has_error()) return Mistake{node.place, "chain: " + chain.error().message};
  if (chain->empty()) return Mistake{node.place, "chain must name at least one profile"};
  rules.chain = *chain;
  rules.chain_place = node.place;
  return {};
}

void read_rules(YamlReader& reader, Rules& rules) {
  Overrides& variables = rules.variables;
  reader.read_with("chain", [&](const YamlNode& node) { return read_chain(node, rules); });
  reader.read_with(
      "env", [&](const YamlNode& node) { return read_env(node, variables.env, variables.unset); });
  reader.read_with("unset", [&](const YamlNode& node) {
    return read_unset(node, variables.env, variables.unset);
  });
  reader.read_with("options", [&](const YamlNode& node) {
    return read_settings(node, settings::OptionScope::config, rules.options);
  });
}

Mistakes read_cluster(const YamlNode& node, std::vector<ClusterRule>& clusters) {
  ClusterRule rule;
  rule.place = node.place;
  YamlReader reader(node, "a cluster rule", kClusterKeys);
  reader.read("name", rule.name);
  if (reader.well_so_far() && rule.name.empty())
    reader.fail(node.place, "a cluster rule needs a name");
  for (const ClusterRule& other : clusters)
    if (other.name == rule.name)
      reader.fail(node.place, fmt::format("there is a cluster rule '{}' already, in line {}",
                                          rule.name, other.place.line));
  reader.read_with("match", [&](const YamlNode& value) { return read_match(value, rule.match); });
  read_rules(reader, rule.rules);
  clusters.push_back(std::move(rule));
  return reader.mistakes();
}

Mistakes read_clusters(const YamlNode& node, std::vector<ClusterRule>& clusters) {
  if (node.kind != YamlNode::Kind::list)
    return Mistake{node.place, "clusters must be a list of rules, each with '- name: …'"};
  Mistakes mistakes;
  for (const YamlNode& item : node.items) mistakes.add(read_cluster(item, clusters));
  return mistakes;
}

// Says why a word is no key that can be locked, or nullopt.
std::optional<std::string> refuse_lock(std::string_view word) {
  if (word == "chain" || word == "env" || word == "options" || word == "clusters")
    return std::nullopt;
  const std::string_view name = word.substr(std::min(word.find('.'), word.size() - 1) + 1);
  if (word.starts_with("clusters.") && !name.empty()) return std::nullopt;
  if (word.starts_with("env.") && is_variable_name(name)) return std::nullopt;
  std::vector<std::string> keys{"chain", "env", "options", "clusters"};
  for (const settings::Option& option : settings::run_options())
    if (option.scope >= settings::OptionScope::config)
      keys.push_back(fmt::format("options.{}", option.name));
  if (std::ranges::find(keys, word) != keys.end()) return std::nullopt;
  const std::string as_option = fmt::format("options.{}", word);
  if (std::ranges::find(keys, as_option) != keys.end())
    return fmt::format("'{}' is no key; did you mean '{}'?", word, as_option);
  return fmt::format(
      "'{}' is no key{} (chain, env, env.NAME, options, options.NAME, clusters, clusters.NAME)",
      word, did_you_mean(word, std::vector<std::string_view>(keys.begin(), keys.end())));
}

Mistakes read_locks(const YamlNode& node, std::vector<LockedKey>& locks) {
  if (node.kind != YamlNode::Kind::list) return Mistake{node.place, "lock must be a list of keys"};
  Mistakes mistakes;
  for (const YamlNode& item : node.items) {
    if (const auto why = refuse_lock(item.text)) mistakes.add({item.place, "lock: " + *why});
    locks.push_back({item.text, item.place});
  }
  return mistakes;
}

}  // namespace

FileKind kind_of_file(const YamlNode& root, std::string_view file, FileKind otherwise) {
  const bool has_its_name = file.substr(file.rfind('/') + 1) == "safelaunch.yaml";
  const auto has = [&](std::string_view key) { return root.find(key) != nullptr; };
  if (has_its_name || std::ranges::any_of(kOfConfigAlone, has)) return FileKind::config;
  return std::ranges::any_of(kOfProfileAlone, has) ? FileKind::profile : otherwise;
}

Result<Config> config_in(const YamlNode& root, const std::string& file) {
  Config config;
  config.origin = file;
  if (root.kind == YamlNode::Kind::null) return config;
  YamlReader reader(root, "a config file", kFileKeys);
  for (const YamlEntry& entry : root.entries)
    if (const settings::Option* option = settings::find_run_option(entry.key);
        option != nullptr && option->scope >= settings::OptionScope::config)
      reader.fail(entry.place,
                  fmt::format("{0} is an option; write options: {{{0}: …}}", entry.key));
  read_rules(reader, config.everywhere);
  reader.read_with("clusters",
                   [&](const YamlNode& node) { return read_clusters(node, config.clusters); });
  reader.read_with("lock", [&](const YamlNode& node) { return read_locks(node, config.locks); });
  if (!reader.mistakes().empty()) return error_of(reader.mistakes());
  return config;
}

Result<Config> read_config(std::string_view text, const std::string& file) {
  const Result<YamlNode> root = parse_yaml(text, file);
  if (root.has_error()) return root.error();
  return config_in(*root, file);
}

}  // namespace safelaunch::profile
