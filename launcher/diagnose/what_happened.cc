#include "case.h"

#include <algorithm>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"

// One or two sentences on what happened, chosen by the kind of failure. Each says no more than the
// evidence shows: a rank that nobody can see from here is "missing", never "idle", and a rank that
// no process has claimed to be may not have been started.
namespace safelaunch::diagnose {
namespace {

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

/// "join the process group": the stages are safelaunch's own words, so each is told by what a rank
/// does in it.
std::string_view step_of(Stage stage) {
  switch (stage) {
    case Stage::spawned: return "start";
    case Stage::imported: return "load torch or jax";
    case Stage::rendezvous: return "come to the rendezvous";
    case Stage::group: return "join the process group";
    case Stage::communicator: return "connect for collectives";
    case Stage::collective: return "join the first collective";
  }
  return "";
}

/// Whether the rank runs on another node or as another user, so that its state is not known.
bool is_out_of_sight(const MissingRank& missing) {
  return missing.activity == Activity::unseen && missing.where.empty();
}

/// Whether a process has claimed to be the rank, and its state is known. A rank that no process has
/// claimed to be may not have been started.
bool is_seen(const MissingRank& missing) {
  return missing.known && !is_out_of_sight(missing);
}

/// The way in which the rank held the others up: "was missing", or for a rank that had come "did
/// not come through".
std::string fault_of(const MissingRank& missing) {
  if (missing.activity == Activity::dead) return fmt::format("had ended ({})", missing.doing);
  return missing.inside ? "did not come through" : "was missing";
}

/// Where its function is known, the kernel's in which it sleeps tells no more: "sleeping in
/// hrtimer_nanosleep, on gpu-1" becomes "on gpu-1".
std::string without_sleep(std::string_view doing) {
  if (doing.starts_with("sleeping in ")) static_cast<void>(take_word(doing, ','));
  return std::string(trimmed(doing));
}

/// "It was idling in train.py:12 load_data, on gpu-1." Empty where nothing is known but that it was
/// missing.
std::string state_of(const MissingRank& missing, const std::string& who) {
  if (missing.activity == Activity::dead) return {};
  if (!missing.known && missing.doing.starts_with("never seen"))
    return fmt::format(" No process that safelaunch sees came as rank {}.", missing.rank.value);
  const std::string place = missing.where.empty() ? "" : " in " + missing.where;
  const std::string doing = place.empty() ? missing.doing : without_sleep(missing.doing);
  std::vector<std::string> known;
  if (missing.activity != Activity::unseen)
    known.push_back(name(missing.activity) + place);
  else if (!place.empty())
    known.push_back(place.substr(1));
  if (!doing.empty()) known.push_back(doing);
  return known.empty() ? "" : fmt::format(" {} was {}.", who, join(known, ", "));
}

/// If more ranks are missing, only the first is described.
constexpr std::size_t kToldOneByOne = 3;

/// "rank 1 was missing and rank 2 did not come through"
std::string faults_of(const std::vector<MissingRank>& missing) {
  if (missing.size() > kToldOneByOne) return ranks_in_words(ranks_of(missing)) + " did not come";
  std::vector<std::string> words;
  for (const MissingRank& one : missing)
    words.push_back(fmt::format("rank {} {}", one.rank.value, fault_of(one)));
  return list_in_words(words);
}

std::string states_of(const std::vector<MissingRank>& missing) {
  std::string text;
  for (std::size_t i = 0; i < missing.size() && (i == 0 || missing.size() <= kToldOneByOne); ++i)
    text += state_of(missing[i],
                     missing.size() == 1 ? "It" : fmt::format("Rank {}", missing[i].rank.value));
  return text;
}

/// The fact that all ranks stand still and none waits for another; nullptr if there is none.
const Confirmation* standstill_of(const Evidence& evidence) {
  const auto found =
      std::ranges::find(evidence.confirmations, cause::kStartStuck, &Confirmation::cause);
  return found == evidence.confirmations.end() ? nullptr : &*found;
}

/// "ranks 0 and 1 waited 6.5s for it to join the process group"
std::string wait_of(const Evidence& evidence, std::string_view whom) {
  const std::string who =
      evidence.failure.waiting.empty() ? "the job" : ranks_in_words(evidence.failure.waiting);
  const std::string time = evidence.failure.waited == Duration::zero()
                               ? ""  // all came together, so no rank waited for another
                               : " " + describe_duration(evidence.failure.waited);
  const std::string step =
      evidence.failure.stage ? fmt::format(" to {}", step_of(*evidence.failure.stage)) : "";
  return fmt::format("{} waited{}{}{}", who, time, whom, step);
}

std::string of_hang(const Evidence& evidence, const Diagnosis& diagnosis) {
  const std::vector<MissingRank>& missing = evidence.failure.missing;
  if (missing.empty()) return capital(wait_of(evidence, "")) + "; nobody was missing.";
  const bool one = missing.size() == 1;
  std::string text =
      fmt::format("{}; {}.{}", capital(faults_of(missing)),
                  wait_of(evidence, one ? " for it" : " for them"), states_of(missing));
  if (std::ranges::all_of(missing, is_out_of_sight))
    text += fmt::format(" Nobody can see {} from here; look where {}.", one ? "it" : "them",
                        one ? "it runs" : "they run");
  else if (diagnosis.failure.cause == cause::kRankMissing &&
           std::ranges::all_of(missing, is_seen) && missing.front().where.empty())
    text += fmt::format(" Probably {} own code keeps {} away.", one ? "its" : "their",
                        one ? "it" : "them");
  return text;
}

/// The missing ranks of a stall are named by the call that they never made, if it is known.
std::string of_stall(const Evidence& evidence) {
  const std::string time = evidence.failure.waited == Duration::zero()
                               ? ""  // no rank is behind
                               : " for " + describe_duration(evidence.failure.waited);
  std::string text =
      fmt::format("Training stood still{}: no output, and no collective finished", time);
  if (!evidence.failure.waiting.empty())
    text += fmt::format("; {} wait{} in a collective", ranks_in_words(evidence.failure.waiting),
                        evidence.failure.waiting.size() == 1 ? "s" : "");
  if (!evidence.failure.missing.empty()) text += "; " + faults_of(evidence.failure.missing);
  return text + "." + states_of(evidence.failure.missing);
}

/// " as it tried to join the process group" for a rank that had come to that, " before it could
/// join …" for one that had not.
std::string place_of(const Evidence& evidence, std::optional<Rank> rank) {
  const auto seen = std::ranges::find_if(
      evidence.failure.missing, [&](const MissingRank& missing) { return missing.rank == rank; });
  if (!evidence.failure.stage || seen == evidence.failure.missing.end()) return {};
  if (seen->inside && evidence.failure.stage == Stage::collective)
    return " in its first collective";
  return fmt::format(" {} {}", seen->inside ? "as it tried to" : "before it could",
                     step_of(*evidence.failure.stage));
}

/// "Rank 3", and of a job on several nodes " on gpu-1" for a rank that ran on another node.
std::string with_host(const Evidence& evidence, Rank rank) {
  const auto host = evidence.hosts.find(rank);
  return host == evidence.hosts.end() ? fmt::format("Rank {}", rank.value)
                                      : fmt::format("Rank {} on {}", rank.value, host->second);
}

std::string of_failure(const Evidence& evidence, const Diagnosis& diagnosis) {
  std::string text = diagnosis.failure.first
                         ? with_host(evidence, *diagnosis.failure.first) + " failed first"
                         : "The command failed";
  if (const auto status = status_of(evidence, diagnosis.failure.first))
    text += fmt::format(" ({})", describe(*status));
  text += place_of(evidence, diagnosis.failure.first);
  if (diagnosis.failure.cause == cause::kRankLeft)
    text += fmt::format("; {} came to {} end in order", ranks_in_words(evidence.finished),
                        evidence.finished.size() == 1 ? "its" : "their");
  else if (!diagnosis.failure.victims.empty())
    text += fmt::format("; {} only followed", ranks_in_words(diagnosis.failure.victims));
  return text + ".";
}

/// The sentence does not say which ranks were still at work: their hooks may be silent.
std::string of_abort_at_exit(const Evidence& evidence, const Diagnosis& diagnosis) {
  std::string text = fmt::format("Rank {} finished, then aborted while its interpreter ended",
                                 diagnosis.failure.first.value_or(Rank{}).value);
  text += evidence.all_finished ? "; all ranks had finished, so nothing of your training is lost."
                                : "; other ranks may not have finished before the job ended.";
  return text;
}

/// The facts of the host and of the ranks that prove the cause.
std::string facts_of(const Evidence& evidence, const Diagnosis& diagnosis) {
  std::string text;
  for (const Confirmation& one : evidence.confirmations)
    if (one.cause == diagnosis.failure.cause) text += one.fact + ".";
  return text;
}

std::string remarks_of(const Evidence& evidence) {
  std::string text;
  for (const std::string& one : evidence.remarks) text += fmt::format(" {}.", capital(one));
  return text;
}

std::string of_contradiction(const Evidence& evidence, const std::string& facts,
                             const Diagnosis& diagnosis) {
  const std::string what = facts.empty() ? diagnosis.failure.title + "." : facts;
  // Some ranks raise an exception over the contradiction; without one, all would wait.
  return evidence.failure.raised.empty() ? "The job would hang until torch's timeout: " + what
                                         : capital(what);
}

}  // namespace

std::string explanation(const Evidence& evidence, const Diagnosis& diagnosis) {
  const std::string facts = facts_of(evidence, diagnosis);
  if (const Confirmation* still = standstill_of(evidence)) return capital(still->fact) + ".";
  const std::string further = facts.empty() ? "" : " " + capital(facts);
  switch (evidence.failure.kind) {
    case FailureKind::hung:
    case FailureKind::stood_still:
    case FailureKind::driver_silent:
      return of_hang(evidence, diagnosis) + further + remarks_of(evidence);
    case FailureKind::stalled: return of_stall(evidence) + further + remarks_of(evidence);
    case FailureKind::rank_died:
    case FailureKind::raised:
    case FailureKind::failed:
      if (diagnosis.failure.cause == cause::kAbortAtExit)
        return of_abort_at_exit(evidence, diagnosis);
      return of_failure(evidence, diagnosis) + further;
    case FailureKind::world_size_mismatch:
    case FailureKind::duplicate_rank:
    case FailureKind::different_stores: return of_contradiction(evidence, facts, diagnosis);
    case FailureKind::not_started: return capital(facts);
    case FailureKind::interrupted:
    case FailureKind::given_up: break;
  }
  return {};
}

}  // namespace safelaunch::diagnose
