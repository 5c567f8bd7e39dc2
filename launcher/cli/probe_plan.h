#pragma once

#include "probe_text.h"
#include "safelaunch/base/environment.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/probe/node_search.h"
#include "safelaunch/probe/session.h"
#include "safelaunch/profile/profile.h"

namespace safelaunch::cli {

/// The words of `safelaunch probe`.
struct ProbeOptions {
  std::vector<std::string> profiles;  ///< names and files; empty: the chain that `run` would take
  bool all = false;                   ///< every profile there is
  std::string cluster;
  std::string config;
  std::optional<int> ranks;  ///< the number of ranks; none: one a GPU
  std::string devices;       ///< "0,1"; empty: all that are visible
  std::string nccl;          ///< a libnccl to probe; empty: the command's
  std::optional<Duration> driver_timeout;
  std::optional<Duration> init_timeout;
  std::optional<Duration> collective_timeout;
  std::vector<std::string> set;    ///< NAME=VALUE
  std::vector<std::string> unset;  ///< NAME
  bool json = false;
  std::string html;  ///< the file for the page; several nodes
  std::optional<int> nnodes;
  std::optional<int> node_rank;
  std::string master_addr;
  std::optional<int> master_port;
  std::string rendezvous;
  std::string token_file;
  std::optional<Duration> nodes_timeout;
  std::vector<std::string> command;  ///< its Python tells which NCCL is loaded; empty: python3
};

/// All that is needed to probe a profile.
struct ProbePlan {
  ProbeOptions options;
  Environment environment;
  profile::Overrides config;
  profile::Overrides overrides;
  std::vector<profile::Profile> profiles;
  std::string program;
  ProbeGround ground;
  std::optional<plan::PartyPlan> party;  ///< set: several nodes
};

/// Reads what the words name. Errors: a wrong option, profile or place, or no probe program.
[[nodiscard]] Result<ProbePlan> make_probe_plan(ProbeOptions options);

/// Finds the libnccl; its survey, if it can be asked, is told whatever the driver does.
Result<void> find_nccl(ProbePlan& plan);

[[nodiscard]] probe::Limits limits_of(const ProbeOptions& options);
[[nodiscard]] Environment environment_under(const profile::Profile& profile, const ProbePlan& plan);
[[nodiscard]] std::vector<probe::Entrant> entrants_of(const ProbePlan& plan);
[[nodiscard]] probe::Spec spec_of(const ProbePlan& plan, const Environment& environment,
                                  const probe::Part& part = {});

/// The profiles to probe: all of them with those of the chain first, those that are named, or the
/// chain that a run would take. Errors: one that is named cannot be read.
[[nodiscard]] Result<std::vector<profile::Profile>> choose_profiles(const ProbeOptions& options,
                                                                    const profile::Rules& rules,
                                                                    const Environment& environment);

/// The word for the Python whose NCCL is probed.
[[nodiscard]] std::string python_of(const ProbePlan& plan);

/// The width of the table's first column.
[[nodiscard]] std::size_t longest_name(const std::vector<profile::Profile>& profiles);

/// The options that count nodes, as a run has them.
[[nodiscard]] settings::RunOptions meeting_of(const ProbeOptions& options);

/// The profiles of a search over several nodes, with why one need not be probed.
[[nodiscard]] std::vector<probe::SearchProfile> profiles_to_search(const ProbePlan& plan);

/// The probe of this node's ranks under a profile that node 0 names; no rank gets the agents'
/// token. Error (bad_config): there is no such profile here.
[[nodiscard]] Result<probe::Spec> spec_for_nodes(const ProbePlan& plan, const std::string& name,
                                                 const probe::Part& part);

/// Probes together with the other nodes; the plan has a party. Returns the status to exit with, on
/// all nodes the same.
[[nodiscard]] int probe_over_nodes(ProbePlan plan);

}  // namespace safelaunch::cli
