#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "safelaunch/base/log.h"
#include "safelaunch/base/time.h"
#include "safelaunch/clean/stale.h"
#include "safelaunch/probe/policy.h"

namespace safelaunch::run {

/// What `safelaunch run` was told, after the command line, the environment (SAFELAUNCH_…) and the
/// configuration file have been put together; what none of them says is left open here, since a
/// profile or the command may say it. README.md lists the options.
struct RunOptions {
  std::vector<std::string> command;

  std::vector<std::string> profiles;  ///< names and files, in order; empty: cluster rule, default
  std::string cluster;
  std::string config;  ///< the file that --config named, or empty
  std::optional<int> max_attempts;
  bool only = false;
  bool fail_on_slow = false;
  bool forget = false;
  bool interactive = false;

  std::optional<Duration> init_timeout;
  std::optional<Duration> collective_timeout;
  std::optional<Duration> quiet_timeout;
  std::optional<Duration> work_timeout;
  std::optional<Duration> start_timeout;
  std::optional<Duration> stall_timeout;
  std::optional<Duration> grace;

  clean::CleanPolicy clean = clean::CleanPolicy::ours;
  std::string port = "auto";  ///< keep | auto | N | A-B
  probe::WhenToProbe probe = probe::WhenToProbe::automatic;

  std::string nproc_per_node;  ///< N | gpu | cpu | auto; empty: not our own spawn
  std::string devices;
  std::optional<int> nnodes;
  std::optional<int> node_rank;
  std::optional<int> start_rank;
  std::optional<int> world_size;
  std::string master_addr;
  std::optional<int> master_port;
  std::string binding = "none";  ///< none | numa | cores
  std::string rendezvous;

  std::vector<std::string> set;    ///< NAME=VALUE
  std::vector<std::string> unset;  ///< NAME

  std::filesystem::path log_dir;
  std::filesystem::path run_dir;
  std::optional<int> keep_runs;  ///< of the earlier ones; 0: all
  std::optional<int> keep_days;  ///< 0: for ever
  std::string ranks = "all";
  bool prefix = false;

  bool hook = true;
  bool plugin = true;
  bool preflight = true;

  /// Of the options that a profile may hold too, those that the user has given: a profile's own
  /// say nothing then.
  std::set<std::string, std::less<>> given;

  bool dry_run = false;
  bool json = false;
  bool colour = true;
  Verbosity verbosity = Verbosity::normal;
};

}  // namespace safelaunch::run
