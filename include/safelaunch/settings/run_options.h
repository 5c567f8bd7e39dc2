#pragma once

#include <filesystem>
#include <span>

#include "safelaunch/base/log.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/base/time.h"
#include "safelaunch/settings/option.h"
#include "safelaunch/settings/settings.h"

namespace safelaunch::settings {

/// The leftovers of earlier runs that may be ended and removed (`--clean`, `clean --policy`).
enum class CleanPolicy {
  off,       ///< nothing
  ours,      ///< leftovers that carry the mark of a safelaunch that is gone
  orphans,   ///< also ranks that lost their launcher and do nothing; only a person asks for that
  all_mine,  ///< also segments of which only owner and name are known; only a person asks for that
};

/// `run --probe auto|always|never`.
enum class WhenToProbe { automatic, always, never };

/// `run --binding none|numa|cores`: the CPUs on which a worker of our own may run.
enum class CpuBinding { none, numa, cores };

/// The options of `safelaunch run`, after the command line, the environment (SAFELAUNCH_…) and the
/// configuration file have been put together; an option that none of them gives is left open here,
/// since a profile or the command may give it. run_options() tells each.
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
  std::optional<Duration> stopped_timeout;
  std::optional<Duration> start_timeout;
  std::optional<StallTimeout> stall_timeout;
  std::optional<Duration> grace;

  CleanPolicy clean = CleanPolicy::ours;
  PortWish port;
  WhenToProbe probe = WhenToProbe::automatic;

  std::string nproc_per_node;  ///< N | gpu | cpu | auto; empty: not our own spawn
  std::string devices;
  std::optional<int> nnodes;
  std::optional<int> node_rank;
  std::optional<int> start_rank;
  std::optional<int> world_size;
  std::string master_addr;
  std::optional<int> master_port;
  std::string rendezvous;  ///< the URL where agents agree; "none"; empty: as the job's own place
  std::string token_file;
  std::optional<Duration> nodes_timeout;
  std::optional<Duration> node_lease;
  CpuBinding binding = CpuBinding::none;

  bool module = false;  ///< the command names a Python module

  std::vector<std::string> set;    ///< NAME=VALUE
  std::vector<std::string> unset;  ///< NAME

  std::filesystem::path log_dir;
  std::filesystem::path run_dir;
  std::string notify;             ///< who gets each notice (settings/receiver.h); empty: none
  std::filesystem::path metrics;  ///< for node_exporter; empty: none
  std::optional<int> keep_runs;   ///< how many earlier runs are kept; 0: all
  std::optional<int> keep_days;   ///< for how many days runs are kept; 0: for ever
  std::string ranks = "all";
  bool prefix = false;
  bool rank_files = false;  ///< the launcher is told to keep each rank's output by itself

  bool hook = true;
  bool plugin = true;
  bool preflight = true;

  /// The options that the user has given anywhere; the profile's own `options:` are not among them.
  Settings given;

  bool dry_run = false;
  bool json = false;
  ColourWish colour = ColourWish::automatic;
  Verbosity verbosity = Verbosity::normal;

  bool wants_help = false;  ///< the user asks for help, and nothing else is done
};

/// All options of `safelaunch run`; a row's members are those of RunOptions. A new option is one
/// row here and its member above.
[[nodiscard]] std::span<const Option> run_options();

/// The options that the command line gave, as words for another command line.
[[nodiscard]] std::vector<std::string> words_given(const RunOptions& options);

/// One of them, or nullptr.
[[nodiscard]] const Option* find_run_option(std::string_view name);

}  // namespace safelaunch::settings
