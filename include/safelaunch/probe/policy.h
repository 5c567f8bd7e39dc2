#pragma once

#include <span>
#include <variant>

#include "safelaunch/probe/tournament.h"
#include "safelaunch/probe/verdict.h"
#include "safelaunch/settings/run_options.h"

/// The decisions of `run --probe`, as values: whether to probe, and the meaning of the results.
namespace safelaunch::probe {

/// Beside an attempt whose workers still import, or when an attempt has failed in NCCL and the GPUs
/// are free again.
enum class Moment { beside_the_first, after_a_failure };

/// The facts that decide whether a probe may begin.
struct Situation {
  settings::WhenToProbe wish = settings::WhenToProbe::automatic;
  Moment moment = Moment::beside_the_first;
  bool profile_uses_nccl = true;  ///< the attempt's profile uses NCCL
  int ranks = 0;                  ///< ranks of the job on this node; 0: not known
  /// GPUs that ranks may use; nullopt: there may be some, and the probe itself will see.
  std::optional<int> gpus = 0;
  int nodes = 1;
  std::string missing;  ///< "there is no libnccl.so.2 in reach"; empty: nothing is missing
};

/// Whether to probe.
struct Choice {
  bool probe = false;
  /// The reason, for -v, or, where --probe always cannot be obeyed, for a warning.
  std::string why;
  bool operator==(const Choice&) const = default;
};

/// Nobody touches the GPUs of a job that may well be healthy, unless --probe always asks for it:
/// the job itself is the better proof. Ranks of other nodes are not probed either: a probe between
/// nodes needs an agent on each. --probe always also asks where no GPU
/// is to be seen.
[[nodiscard]] Choice choose_to_probe(const Situation& situation);

/// A probe has told. `next` is the profile that the chain would take after this one for the cause
/// that the probe showed; empty: there is none.
struct CampaignProbed {
  Verdict verdict;
  std::string next;
};
/// The first rank has begun to make a communicator, or to wait for one.
struct CampaignRanksEntered {};
/// The attempt has ended, by whatever.
struct CampaignAttemptEnded {};

using CampaignEvent = std::variant<CampaignProbed, CampaignRanksEntered, CampaignAttemptEnded>;

struct StartProbe {
  std::string profile;
  bool operator==(const StartProbe&) const = default;
};
struct StopProbe {
  bool operator==(const StopProbe&) const = default;
};
/// End the attempt, and try this profile, which works.
struct SwitchProfile {
  std::string profile;
  std::string why;
  bool operator==(const SwitchProfile&) const = default;
};

using CampaignAction = std::variant<StartProbe, StopProbe, SwitchProfile>;

/// Decides what is probed beside an attempt, while its workers still import. A pure value.
///
///     proving the attempt's profile ─ it works ───────────────→ over
///        │  └ ranks enter their communicator first ──────────→ over (the job is the better proof)
///        └ it fails ─→ seeking: the next profile, until one works ─→ switch ─→ over
///
/// Once the attempt's profile is known to fail, the search goes on though ranks enter: they would
/// only wait for a deadline.
class Campaign {
 public:
  /// Begins with a StartProbe of the attempt's profile, which the caller performs.
  explicit Campaign(std::string profile) : probing_(std::move(profile)) {}

  [[nodiscard]] const std::string& probing() const { return probing_; }
  [[nodiscard]] std::vector<CampaignAction> on(const CampaignEvent& event);

  /// All that was probed, in order.
  [[nodiscard]] std::span<const ProbedProfile> probed() const { return probed_; }

 private:
  using Actions = std::vector<CampaignAction>;
  enum class State { proving, seeking, over };

  Actions take(const CampaignProbed& event);
  Actions take(const CampaignRanksEntered& event);
  Actions take(const CampaignAttemptEnded& event);
  Actions give_up();

  State state_ = State::proving;
  std::string probing_;
  std::vector<ProbedProfile> probed_;
};

/// Decides which profile follows one that has failed: all that may are probed, one after the other,
/// and the fastest that works is taken. A pure value.
class Selection {
 public:
  explicit Selection(std::vector<std::string> candidates) : candidates_(std::move(candidates)) {}

  /// The profile to probe now; nullptr: all have been.
  [[nodiscard]] const std::string* probing() const {
    return probed_.size() < candidates_.size() ? &candidates_[probed_.size()] : nullptr;
  }
  /// Takes the verdict of the profile that is being probed.
  void take(Verdict verdict) { probed_.push_back({*probing(), std::move(verdict), ""}); }

  /// The fastest profile that works; empty: none does.
  [[nodiscard]] std::string chosen() const;
  [[nodiscard]] std::span<const ProbedProfile> probed() const { return probed_; }

 private:
  std::vector<std::string> candidates_;
  std::vector<ProbedProfile> probed_;
};

/// The profiles that a probe has shown to fail.
[[nodiscard]] std::vector<std::string> refuted(std::span<const ProbedProfile> probed);

}  // namespace safelaunch::probe
