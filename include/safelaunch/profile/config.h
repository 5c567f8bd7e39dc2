#pragma once

#include <map>
#include <span>

#include "safelaunch/base/environment.h"
#include "safelaunch/profile/apply.h"
#include "safelaunch/profile/shared_keys.h"

namespace safelaunch::profile {

// The words of a cluster rule's conditions (ClusterMatch, config.h).

/// Says what is wrong with a network such as "10.8.0.0/16" or "fd00::/8", or nullopt.
[[nodiscard]] std::optional<std::string> refuse_network(std::string_view network);

/// Whether an address lies in a network that was not refused. False for what is no address.
[[nodiscard]] bool is_in_network(std::string_view address, std::string_view network);

/// Says what is wrong with a regular expression (RE2's syntax: no back-references, no look-around),
/// or nullopt. Long ones are refused, so that none takes noticeable time.
[[nodiscard]] std::optional<std::string> refuse_pattern(std::string_view pattern);

/// Whether a pattern that was not refused matches all of a text, or some part of it. Time is linear
/// in the text, whatever the pattern; of a text, the first 300 bytes count.
[[nodiscard]] bool matches_whole(std::string_view pattern, std::string_view text);
[[nodiscard]] bool occurs_in(std::string_view pattern, std::string_view text);

/// A rule changes the chain, variables and run options.
struct Rules {
  std::vector<std::string> chain;  ///< empty: says nothing about it
  Place chain_place;
  Overrides variables;
  settings::Settings options;
};

/// The conditions of a cluster rule; all that are given must hold. Patterns are regular expressions
/// of RE2.
struct ClusterMatch {
  std::string hostname;  ///< matches the host's whole name, in full or up to its first dot
  std::string gpu;       ///< occurs in the name of some GPU of the host
  std::map<std::string, std::string, std::less<>> env;  ///< variable → matches its whole value
  std::string network;  ///< "10.8.0.0/16": the host has an address in it

  [[nodiscard]] bool empty() const;
};

struct ClusterRule {
  std::string name;
  Place place;
  ClusterMatch match;  ///< empty: only --cluster NAME picks the rule
  Rules rules;
};

/// A key that the file of the host keeps for itself: "chain", "env", "env.NCCL_IB_HCA", "options",
/// "options.clean", "clusters", "clusters.hgx".
struct LockedKey {
  std::string key;
  Place place;  ///< where the lock stands
};

/// safelaunch.yaml: the rules that hold everywhere, and those of single clusters.
struct Config {
  std::string origin;  ///< the path of the file, or of several; empty: there is none
  Rules everywhere;
  std::vector<ClusterRule> clusters;
  std::vector<LockedKey> locks;
};

/// The lock that holds for a key: its own, or that of the map it stands in; nullptr where none
/// does.
[[nodiscard]] const LockedKey* lock_of(std::span<const LockedKey> locks, std::string_view key);

/// The cluster's rule of that name; nullptr where there is none.
[[nodiscard]] const ClusterRule* rule_of(const Config& config, std::string_view name);

/// The facts of the host that pick a rule.
struct ClusterHost {
  std::string hostname;
  std::vector<std::string> gpus;  ///< "NVIDIA H100 80GB HBM3"; see asks_for_gpus()
  std::vector<std::string> addresses;
  Environment environment;
};

/// Reads the text of a safelaunch.yaml. Errors: FILE:LINE:COLUMN, with the nearest right word.
[[nodiscard]] Result<Config> read_config(std::string_view text, const std::string& file);

/// The same of a text that has been read as YAML.
[[nodiscard]] Result<Config> config_in(const YamlNode& root, const std::string& file);

/// The kinds of files that people write for safelaunch.
enum class FileKind { profile, config };

/// The kind of a file, by its name or by keys that one kind alone has; `otherwise` where neither
/// tells.
[[nodiscard]] FileKind kind_of_file(const YamlNode& root, std::string_view file,
                                    FileKind otherwise);

/// Whether a rule looks at GPU names, which cost a call into the driver to learn.
[[nodiscard]] bool asks_for_gpus(const Config& config);

[[nodiscard]] bool matches(const ClusterMatch& match, const ClusterHost& host);

/// The rule of that name, or, with an empty name, the first that matches; nullptr where none does.
/// Error: there is no rule of that name.
[[nodiscard]] Result<const ClusterRule*> choose_cluster(const Config& config, std::string_view name,
                                                        const ClusterHost& host);

/// `lower` with all that `upper` says in its place: the chain, each variable and each option by
/// itself. A list is never appended to.
[[nodiscard]] Rules overlay(Rules lower, const Rules& upper);

/// The rules that hold everywhere, with those of the cluster (may be nullptr) over them.
[[nodiscard]] Rules rules_for(const Config& config, const ClusterRule* cluster);

}  // namespace safelaunch::profile
