#pragma once

#include <map>
#include <set>
#include <span>

#include "safelaunch/diagnose/diagnosis.h"
#include "safelaunch/diagnose/evidence.h"
#include "safelaunch/nccl/version.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/profile/chain.h"

namespace safelaunch::plan {

/// The ways in which a job has communicated in all its attempts until now. They decide which
/// profiles can change anything for it.
struct SeenOfJob {
  std::optional<nccl::Version> nccl{};  ///< the version that the job runs; none: not known
  bool nccl_spoke = false;              ///< some rank came to it, whatever the host shows of GPUs
  /// The backends as given to init_process_group; "": torch's own choice.
  std::set<std::string> backends{};
  bool gpu = true;  ///< whether this host has one
  /// Some rank may have come so far that it communicates, in whatever attempt: only then settings
  /// of communication change anything.
  bool came = true;
  bool hooked = true;  ///< a hook has spoken in some rank: without one nothing turns NCCL into gloo
};

/// Whether a variable of NCCL may change anything.
[[nodiscard]] bool may_use_nccl(const SeenOfJob& seen);

/// Whether gloo in place of NCCL may change anything.
[[nodiscard]] bool may_change_to_gloo(const SeenOfJob& seen);

/// Of the candidates, those under which the job would find just what it found under a profile that
/// was tried in vain, and why: the user's own value of a variable stays, the job's NCCL does not
/// know the variable yet, the job has no use for NCCL, or is on gloo already. An attempt under one
/// would be lost time. Pure.
///
/// Users name profiles with --profile for what they know: their script may read a variable of NCCL
/// by itself. Of them only those are struck out that are another's very copy.
[[nodiscard]] std::vector<profile::StruckOut> same_as_tried(
    const RunPlan& plan, std::span<const profile::Profile* const> tried,
    std::span<const profile::Profile* const> candidates, const SeenOfJob& seen);

/// Ranks that others waited for in vain, each at a place that no profile changes: in the script's
/// own code, outside torch, JAX and NCCL, or stopped by somebody. A job that stands so again stands
/// so under every profile.
struct Impasse {
  std::string cause;
  Stage stage = Stage::spawned;
  std::map<Rank, std::string> places;  ///< "train.py:50 never_reaches_init", "stopped"
  bool operator==(const Impasse&) const = default;
};

/// The impasse of an attempt; nullopt where it did not hang so, or where it cannot be seen where a
/// rank stands.
[[nodiscard]] std::optional<Impasse> impasse_of(const diagnose::Evidence& evidence,
                                                const diagnose::Diagnosis& diagnosis);

/// "rank 1 stands in train.py:50 never_reaches_init again".
[[nodiscard]] std::string describe_again(const Impasse& impasse);

/// The step that follows a failed attempt. A plain value.
struct NextStep {
  std::optional<profile::Profile> profile;  ///< the profile to try now; none: no further attempt
  Duration wait{};                          ///< how long to wait before that attempt
  bool other_port = false;                  ///< the same profile is tried on another port
  bool resumes = false;                     ///< the training starts again: resume, or retry
  std::string checkpoint{};  ///< the one from which it does; empty: as it was started first
  std::string why;           ///< "heals shm-small", "the port was taken meanwhile"; or why not
  std::vector<profile::StruckOut> struck_out;
};

/// The reason why no further attempt is made where --only is given.
inline constexpr const char* kOnlyOnce = "--only: the job is started once";

/// The reason where as many were made as --max-attempts allows: "2 attempts were made".
[[nodiscard]] std::string describe_used_up(int attempts);

/// How far the run has come.
struct RunProgress {
  int attempts = 0;
  profile::Profile last;  ///< the profile of the last attempt
  std::vector<std::string> tried;
  std::span<const profile::Profile>
      known;  ///< all profiles there are, for healers outside the chain
  SeenOfJob seen;
  bool warned = false;             ///< SIGUSR1 or SIGUSR2 came: the job's time is nearly over
  bool agreed = false;             ///< all nodes' agents agree on the step, and follow it
  std::optional<Impasse> impasse;  ///< the impasse of the last attempt
  std::vector<Impasse> former;     ///< the impasses of the attempts before the last
  int resumed = 0;                 ///< attempts that resume or retry has added
};

/// Why no attempt follows a warning.
[[nodiscard]] std::string describe_warning();

/// Chooses the next step from the diagnosis; pure.
[[nodiscard]] NextStep next_step(const RunPlan& plan, const diagnose::Diagnosis& diagnosis,
                                 const RunProgress& progress);

}  // namespace safelaunch::plan
