#pragma once

#include "safelaunch/agree/board.h"
#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"
#include "safelaunch/job/command.h"
#include "safelaunch/job/placement.h"
#include "safelaunch/job/port.h"
#include "safelaunch/job/topology.h"
#include "safelaunch/profile/apply.h"
#include "safelaunch/profile/config.h"
#include "safelaunch/profile/profile.h"
#include "safelaunch/profile/remembered.h"
#include "safelaunch/profile/shared_keys.h"
#include "safelaunch/profile/told_settings.h"
#include "safelaunch/redact/redactor.h"
#include "safelaunch/settings/run_options.h"

namespace safelaunch::plan {

/// The settings of all files for this host, with the SAFELAUNCH_* variables over them.
struct Configuration {
  profile::Rules rules;
  std::string cluster;  ///< the name of the rule that holds here; empty: none
  profile::Place cluster_place;
  settings::Settings settings;  ///< run options: environment over files
  std::vector<profile::LockedKey> locks;
  std::vector<std::string> warnings;
  std::string unasked;  ///< the text of a ./safelaunch.yaml that holds and that nobody has named
};

/// Reads the configuration files and picks the cluster rule. `file` and `cluster` are the values of
/// --config and --cluster, or empty.
[[nodiscard]] Result<Configuration> read_configuration(const std::string& file,
                                                       const std::string& cluster,
                                                       const Environment& environment);

/// The options of a run during its attempts under a profile: where the user has left one open, in
/// the command line, the environment and safelaunch.yaml, the profile's `options:` say it.
[[nodiscard]] settings::RunOptions options_under(settings::RunOptions options,
                                                 const profile::Profile& profile);

/// Several nodes: where and how the agent of this one meets the others.
struct PartyPlan {
  job::Placement placement;
  agree::Address address;
  /// Every node has an agent, because the same command was started on each; else agents that find
  /// no others run apart.
  bool certain = false;
  Duration nodes_within = std::chrono::minutes(10);  ///< missing nodes have this long to come
  agree::Terms terms{};
};

/// Everything about a run that is decided before anything is done; `--dry-run` prints it.
struct RunPlan {
  settings::RunOptions options;
  Environment environment;  ///< the user's environment
  Configuration configuration;
  profile::Overrides overrides;  ///< --set and --unset
  job::Command command;
  std::optional<job::SpawnPlan> spawn;   ///< set: safelaunch spawns the workers itself
  std::optional<PartyPlan> party;        ///< set: the agents of several nodes agree
  std::vector<std::string> chain_names;  ///< the profiles to try, in order
  /// The profiles of the chain that have been read: the first at least.
  std::vector<profile::Profile> chain;
  std::string chain_origin;  ///< its source: "--profile", "safelaunch.yaml:3:8", "the default"
  int max_attempts = 1;
  std::vector<std::string> warnings;
  /// Set: the run says once that it takes settings from ./safelaunch.yaml.
  std::optional<profile::Telling> settings_from_here;

  /// That of the command, but a port of another host is never changed.
  [[nodiscard]] job::PortPolicy port_policy() const;
  [[nodiscard]] int nodes() const;
  /// The environment of the command under a profile, and how it differs from the user's.
  [[nodiscard]] profile::AppliedEnvironment environment_under(
      const profile::Profile& profile) const;
  /// Whether this is a part of a job alone: an agent on each node, or somebody else, starts the
  /// rest.
  [[nodiscard]] bool others_start_ranks() const;
};

/// Whether these options make safelaunch spawn the workers itself.
[[nodiscard]] bool wants_own_workers(const settings::RunOptions& options);

/// Puts together the options, the configuration, the command, the profiles and the host. Reads
/// files and the host's identity; changes nothing.
[[nodiscard]] Result<RunPlan> make_plan(settings::RunOptions options, Configuration configuration,
                                        const Environment& environment);

/// Where the agents of several nodes meet for a verb that starts no job, by the options of `wishes`
/// that count nodes, the settings of `configuration` and whatever started us on each node, as in a
/// run whose ranks safelaunch spawns. `purpose` tells such a meeting from that of a job. nullopt:
/// there is one node, or --rendezvous none.
[[nodiscard]] Result<std::optional<PartyPlan>> plan_meeting(settings::RunOptions wishes,
                                                            const Configuration& configuration,
                                                            const Environment& environment,
                                                            const std::string& purpose);

/// Reads what make_plan() left unread of the chain.
[[nodiscard]] Result<void> read_rest_of_chain(RunPlan& plan);

/// The launcher and the script, for which a profile of large cost is remembered.
[[nodiscard]] std::string job_of(const RunPlan& plan);

/// This host, by name, GPUs and driver.
[[nodiscard]] profile::HostKey host_key();
/// The key under which this host remembers which profile worked: the host, and the command's
/// Python and NCCL.
[[nodiscard]] profile::HostKey host_key(const RunPlan& plan);

/// The redactor that takes secrets out of everything that is told of the run. It knows those of the
/// environment, the command, --set, the configuration and the profiles.
[[nodiscard]] redact::Redactor redactor_for(const RunPlan& plan);

/// The ids under heals and worsens that are no causes of the catalogue, nor of the user's own files
/// of causes; nullopt where there are none.
[[nodiscard]] std::optional<Error> unknown_causes(const profile::Profile& profile);

/// The first key of a profile that does nothing here, since only the hook could do it and --no-hook
/// leaves it out: "backend: gloo"; empty: there is none.
[[nodiscard]] std::string_view left_without_hook(const RunPlan& plan,
                                                 const profile::Profile& profile);

/// What a profile costs on this host: gloo is slower than NCCL only where there is a GPU.
[[nodiscard]] profile::Cost cost_here(const profile::Profile& profile);

/// Whether --fail-on-slow forbids the profile here, and the words that say so.
[[nodiscard]] bool is_too_slow(const RunPlan& plan, const profile::Profile& profile);
inline constexpr std::string_view kTooSlow = "slow, and --fail-on-slow is given";

/// The estimated cost of a profile: "none", or "large (gloo over TCP instead of NCCL)".
[[nodiscard]] std::string cost_in_words(const profile::Profile& profile);

/// The cost of a profile beside the first of the chain, as measured on this host; the estimate if
/// it was never measured.
[[nodiscard]] std::string cost_in_words(const RunPlan& plan, const profile::Profile& profile);

}  // namespace safelaunch::plan
