#include "safelaunch/plan/next_step.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/plan/resume.h"
#include "safelaunch/profile/backends.h"
#include "safelaunch/profile/variables.h"

// After a failed attempt three questions are asked in this order: does the diagnosis forbid another
// attempt, do ranks stand where they stood before, and which profile could change anything for this
// job. Profiles under which the job would find what it found before are struck out, each with its
// reason, because an attempt under one costs minutes.
namespace safelaunch::plan {
namespace {

/// The first NCCL that reads the variable; nullopt for one that the job's own reads.
std::optional<nccl::Version> too_new(const std::string& name, std::optional<nccl::Version> nccl) {
  if (!nccl || !name.starts_with("NCCL_")) return std::nullopt;
  const auto truth = profile::truth_about(name);
  const auto since = truth ? nccl::parse_nccl_version(truth->since) : std::nullopt;
  return since && *nccl < *since ? since : std::nullopt;
}

bool is_of_nccl(std::string_view name) {
  return name.starts_with("NCCL_") || name.starts_with("TORCH_NCCL_") ||
         name == "TORCH_DIST_USE_NCCL2";
}

bool is_of_gloo(std::string_view name) {
  return name.starts_with("GLOO_") || name.starts_with("TP_SOCKET_");
}

constexpr const char* kNobodyCame = "no rank has come so far that it communicates";

const char* why_without_nccl(const SeenOfJob& seen) {
  return seen.backends.empty() || !seen.gpu ? "nothing here reads NCCL's variables without a GPU"
                                            : "the job's backend reads no variable of NCCL";
}

/// The surroundings of a job under a profile.
struct Found {
  Environment environment;  ///< without the variables that its NCCL does not know
  profile::Backend backend = profile::Backend::keep;
  std::string why;  ///< why a change of the profile has no effect here
};

Found found_under(const profile::Profile& profile, const RunPlan& plan, const SeenOfJob& seen) {
  profile::AppliedEnvironment applied = plan.environment_under(profile);
  Found found{std::move(applied.environment), profile.backend, ""};
  if (const std::string_view key = left_without_hook(plan, profile); !key.empty()) {
    found.backend = profile::Backend::keep;
    found.why = fmt::format("{} needs the hook", key);
  } else if (profile.backend == profile::Backend::gloo && !may_change_to_gloo(seen)) {
    found.backend = profile::Backend::keep;
    found.why = !seen.came     ? kNobodyCame
                : !seen.hooked ? "no hook of safelaunch is in its ranks"
                               : "the job does not ask for NCCL";
  }
  for (const profile::Difference& difference : applied.differences) {
    const std::string& name = difference.name;
    if (difference.winner == profile::Winner::user)
      found.why = fmt::format("your {}={} stays", name, difference.after.value_or(""));
    if (difference.winner != profile::Winner::profile) continue;
    if (!seen.came && (is_of_nccl(name) || is_of_gloo(name))) {
      found.environment.erase(name);
      found.why = kNobodyCame;
    } else if (is_of_nccl(name) && !may_use_nccl(seen)) {
      found.environment.erase(name);
      found.why = why_without_nccl(seen);
    } else if (const auto since = too_new(name, seen.nccl)) {
      found.environment.erase(name);
      found.why = fmt::format("NCCL {} does not know {} (from {} on)", to_string(*seen.nccl), name,
                              profile::truth_about(name)->since);
    }
  }
  return found;
}

/// All but environment and backend by which a profile makes an attempt another one.
bool same_otherwise(const profile::Profile& a, const profile::Profile& b) {
  return a.verify == b.verify && a.args == b.args && a.processes == b.processes &&
         a.process_group_timeout == b.process_group_timeout && a.timeouts == b.timeouts &&
         a.options == b.options;
}

/// Settings that only show more of an attempt, or end it differently. They heal nothing, so a
/// fallback never tries a profile for them alone.
bool shows_the_same(const profile::Profile& a, const profile::Profile& b) {
  return a.ras == b.ras && a.faulthandler == b.faulthandler && a.on_stall == b.on_stall &&
         a.resume == b.resume && a.restarts == b.restarts && a.retry == b.retry;
}

bool finds_the_same(const Found& a, const Found& b) {
  return a.backend == b.backend && a.environment == b.environment;
}

bool is_named(const profile::Profile& profile, const RunPlan& plan) {
  return !plan.options.profiles.empty() &&
         std::ranges::find(plan.chain_names, profile.name) != plan.chain_names.end();
}

constexpr std::string_view kStopped = "stopped";

/// A rank inside these libraries may be helped by another profile.
bool is_communication(std::string_view frame) {
  constexpr std::array<std::string_view, 5> kLibraries{"/torch/", "/jax/", "/jaxlib/", "/nccl/",
                                                       "/cupy"};
  return std::ranges::any_of(kLibraries, [&](std::string_view library) {
    return frame.find(library) != std::string_view::npos;
  });
}

// Empty: a profile may change what it does there, or it cannot be seen.
std::string place_of(const MissingRank& missing) {
  if (missing.activity == Activity::stopped) return std::string(kStopped);
  const std::string_view frame = innermost_frame(missing.stack);
  const bool own = !missing.inside && !frame.empty() && !is_communication(frame);
  return own ? missing.where : std::string();
}

NextStep stop(std::string why) {
  NextStep step;
  step.why = std::move(why);
  return step;
}

NextStep used_up(const RunProgress& progress) {
  return stop(describe_used_up(progress.attempts));
}

NextStep same_again(const RunPlan& plan, const diagnose::RetrySame& retry,
                    const RunProgress& progress) {
  const bool on_another_port = retry.with == diagnose::RetrySame::With::another_port;
  if (plan.options.max_attempts && progress.attempts >= *plan.options.max_attempts)
    return used_up(progress);
  NextStep step;
  step.profile = progress.last;
  step.wait = retry.backoff;
  step.other_port = on_another_port;
  step.why = step.other_port ? "the same settings on another port"
                             : "the same settings; this passes by itself";
  return step;
}

std::vector<profile::StruckOut> hopeless(const RunPlan& plan, const RunProgress& progress) {
  std::vector<const profile::Profile*> tried;
  std::vector<const profile::Profile*> others;
  for (const std::span<const profile::Profile> profiles : {std::span(plan.chain), progress.known})
    for (const profile::Profile& profile : profiles) {
      const bool was = std::ranges::find(progress.tried, profile.name) != progress.tried.end();
      (was ? tried : others).push_back(&profile);
    }
  std::vector<profile::StruckOut> struck;
  for (const profile::Profile* other : others)
    if (is_too_slow(plan, *other)) struck.push_back({other->name, std::string(kTooSlow)});
  std::ranges::move(same_as_tried(plan, tried, others, progress.seen), std::back_inserter(struck));
  return struck;
}

// Every node must run the same profile, and nobody here can tell the others.
std::string without_the_others(const RunPlan& plan) {
  const std::string whose = plan.nodes() > 1
                                ? fmt::format("a job of {} nodes", plan.nodes())
                                : std::string("a job whose other ranks are started elsewhere");
  return "one node alone cannot start " + whose + " again";
}

// A profile that heals the cause, and is no link of the chain, takes no link's place, nor does a
// start from a checkpoint.
int most_attempts(const RunPlan& plan, const RunProgress& progress) {
  if (plan.options.max_attempts) return plan.max_attempts;
  return plan.max_attempts + progress.resumed +
         static_cast<int>(std::ranges::count_if(progress.tried, [&](const std::string& name) {
           return std::ranges::find(plan.chain_names, name) == plan.chain_names.end();
         }));
}

NextStep fall_back(const RunPlan& plan, const diagnose::Diagnosis& diagnosis,
                   const RunProgress& progress) {
  if (plan.others_start_ranks() && !progress.agreed) return stop(without_the_others(plan));
  if (progress.attempts >= most_attempts(plan, progress)) return used_up(progress);
  profile::ChainState state;
  state.chain = plan.chain;
  state.known = progress.known;
  state.tried = progress.tried;
  state.cause = diagnosis.failure.cause;
  state.nodes = plan.nodes();
  const std::vector<profile::StruckOut> struck = hopeless(plan, progress);
  state.hopeless = struck;
  profile::NextProfile next = profile::next_profile(state);
  NextStep step;
  if (next.profile != nullptr) step.profile = *next.profile;
  step.struck_out = std::move(next.struck_out);
  if (step.profile)
    step.why = std::move(next.why);
  else
    step.why = step.struck_out.empty() ? "every profile of the chain was tried"
                                       : "no profile is left that could change anything";
  return step;
}

}  // namespace

bool may_use_nccl(const SeenOfJob& seen) {
  if (seen.nccl || seen.nccl_spoke) return true;
  return seen.gpu && (seen.backends.empty() ||
                      std::ranges::any_of(seen.backends, profile::backend_may_use_nccl));
}

bool may_change_to_gloo(const SeenOfJob& seen) {
  if (!seen.came || !seen.hooked) return false;
  if (seen.backends.empty()) return true;
  return std::ranges::any_of(seen.backends, [&](const std::string& backend) {
    if (backend.empty()) return seen.gpu;  // NCCL for tensors on a GPU, gloo for all others
    return profile::backend_names_nccl(backend);
  });
}

std::vector<profile::StruckOut> same_as_tried(const RunPlan& plan,
                                              std::span<const profile::Profile* const> tried,
                                              std::span<const profile::Profile* const> candidates,
                                              const SeenOfJob& seen) {
  const auto as_run = [&plan](const profile::Profile& one) {
    profile::Profile runs = plan.chain.empty() ? one : with_training_of(plan.chain.front(), one);
    if (!left_without_hook(plan, one).empty()) {
      runs.verify = {};
      runs.process_group_timeout = {};
    }
    return runs;
  };
  std::vector<profile::StruckOut> result;
  for (const profile::Profile* candidate : candidates) {
    const profile::Profile runs = as_run(*candidate);
    const bool named = is_named(*candidate, plan);
    // Of a profile that the user has named only its copies count, since the script may read
    // variables itself.
    const SeenOfJob counts = named ? SeenOfJob{.nccl = seen.nccl} : seen;
    const Found found = found_under(*candidate, plan, counts);
    const auto same = std::ranges::find_if(tried, [&](const profile::Profile* one) {
      return one->name != candidate->name && same_otherwise(as_run(*one), runs) &&
             (!named || shows_the_same(as_run(*one), runs)) &&
             finds_the_same(found_under(*one, plan, counts), found);
    });
    if (same == tried.end()) continue;
    const std::string why = found.why.empty() ? "" : ": " + found.why;
    result.push_back({candidate->name, fmt::format("the same as {} here{}", (*same)->name, why)});
  }
  return result;
}

std::optional<Impasse> impasse_of(const diagnose::Evidence& evidence,
                                  const diagnose::Diagnosis& diagnosis) {
  if (!is_hang(evidence.failure.kind) || evidence.failure.missing.empty()) return std::nullopt;
  Impasse impasse{diagnosis.failure.cause, evidence.failure.stage.value_or(Stage::spawned), {}};
  for (const MissingRank& missing : evidence.failure.missing) {
    std::string place = place_of(missing);
    // One rank at a place that a profile may change makes another attempt worth its time.
    if (place.empty()) return std::nullopt;
    impasse.places[missing.rank] = std::move(place);
  }
  // A rank that is stopped is the same wherever it was when the signal came.
  if (std::ranges::all_of(impasse.places, [](const auto& one) { return one.second == kStopped; }))
    impasse.stage = Stage::spawned;
  return impasse;
}

std::string describe_again(const Impasse& impasse) {
  const auto& [rank, place] = *impasse.places.begin();
  std::string text = place == kStopped
                         ? fmt::format("rank {} is stopped again", rank.value)
                         : fmt::format("rank {} stands in {} again", rank.value, place);
  if (const std::size_t others = impasse.places.size() - 1; others > 0)
    text += fmt::format(", {} other{} likewise", others, others == 1 ? "" : "s");
  return text;
}

std::string describe_warning() {
  return "SIGUSR1 or SIGUSR2 arrived; schedulers send it before they end a job";
}

std::string describe_used_up(int attempts) {
  return fmt::format("{} attempt{} made", attempts, attempts == 1 ? " was" : "s were");
}

NextStep next_step(const RunPlan& plan, const diagnose::Diagnosis& diagnosis,
                   const RunProgress& progress) {
  if (const auto* stopped = std::get_if<diagnose::Stop>(&diagnosis.decision))
    return stop(describe(stopped->reason));
  if (progress.warned) return stop(describe_warning());
  if (progress.impasse &&
      std::ranges::find(progress.former, *progress.impasse) != progress.former.end())
    return stop(describe_again(*progress.impasse) + ", where no profile changes anything");
  if (plan.options.only) return stop(kOnlyOnce);
  if (const auto* retry = std::get_if<diagnose::RetrySame>(&diagnosis.decision))
    return same_again(plan, *retry, progress);
  return fall_back(plan, diagnosis, progress);
}

}  // namespace safelaunch::plan
