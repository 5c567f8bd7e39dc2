#include "case.h"

#include <algorithm>
#include <array>
#include <span>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/source_place.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/diagnose/failure_words.h"

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

/// Where its function is known, how it sleeps tells no more: "sleeping in a poll, on
/// gpu-1" becomes "on gpu-1". Which child it waits for does: "in a child (sh, pid 7), on gpu-1".
std::string without_sleep(std::string_view doing) {
  constexpr std::string_view kSleeping = "sleeping";
  if (!doing.starts_with(kSleeping)) return std::string(doing);
  doing.remove_prefix(kSleeping.size());
  if (!doing.starts_with(" in a child (")) static_cast<void>(take_word(doing, ','));
  return std::string(trimmed(doing));
}

/// Whether the places of ranks stand in the sentence, or have lines of their own beside it.
enum class Places { in_sentence, on_their_own };

bool is_never_seen(const MissingRank& missing) {
  return !missing.known && missing.doing.starts_with(kNeverSeen);
}

/// "idling in train.py:12 load_data, on gpu-1". Empty where nothing is known but that it was
/// missing.
std::string state_of(const MissingRank& missing, Places places) {
  if (missing.activity == Activity::dead || is_never_seen(missing)) return {};
  const bool elsewhere = missing.where.empty() || places == Places::on_their_own;
  const std::string place = elsewhere ? "" : " in " + missing.where;
  const std::string doing = missing.where.empty() ? missing.doing : without_sleep(missing.doing);
  std::vector<std::string> known;
  if (missing.activity != Activity::unseen)
    known.push_back(name(missing.activity) + place);
  else if (!place.empty())
    known.push_back(place.substr(1));
  if (!doing.empty()) known.push_back(doing);
  return join(known, ", ");
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

/// Those that are told one by one.
std::span<const MissingRank> told_of(const std::vector<MissingRank>& missing) {
  return std::span(missing).first(missing.size() > kToldOneByOne ? 1 : missing.size());
}

std::string states_of(const std::vector<MissingRank>& missing, Places places) {
  std::vector<AlikeRanks> states;
  std::vector<Rank> unseen;
  for (const MissingRank& one : told_of(missing)) {
    if (is_never_seen(one)) unseen.push_back(one.rank);
    if (std::string state = state_of(one, places); !state.empty())
      add_alike(states, one.rank, std::move(state));
  }
  std::string text;
  for (const auto& [state, ranks] : states) {
    const bool one = ranks.size() == 1;
    const bool all = ranks.size() == missing.size();
    const std::string who = all ? (one ? "It" : "They") : capital(ranks_in_words(ranks));
    text += fmt::format(" {} {} {}.", who, one ? "was" : "were", state);
  }
  if (!unseen.empty())
    text += fmt::format(" No process that safelaunch sees came as {}.", ranks_in_words(unseen));
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

std::string of_hang(const Evidence& evidence, const Diagnosis& diagnosis, Places places) {
  const std::vector<MissingRank>& missing = evidence.failure.missing;
  if (missing.empty()) return capital(wait_of(evidence, "")) + "; nobody was missing.";
  const bool one = missing.size() == 1;
  const std::string wait = wait_of(evidence, one ? " for it" : " for them");
  std::string text = places == Places::on_their_own
                         ? capital(wait)
                         : fmt::format("{}; {}", capital(faults_of(missing)), wait);
  text += "." + states_of(missing, places);
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
std::string of_stall(const Evidence& evidence, Places places) {
  const std::string time = evidence.failure.waited == Duration::zero()
                               ? ""  // no rank is behind
                               : " for " + describe_duration(evidence.failure.waited);
  std::string text = fmt::format("Training stood still{}: no collective finished", time);
  if (!evidence.failure.waiting.empty())
    text += fmt::format("; {} wait{} in a collective", ranks_in_words(evidence.failure.waiting),
                        evidence.failure.waiting.size() == 1 ? "s" : "");
  if (!evidence.failure.missing.empty()) text += "; " + faults_of(evidence.failure.missing);
  return text + "." + states_of(evidence.failure.missing, places);
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
    if (one.cause == diagnosis.failure.cause)
      text += text.empty() ? one.fact + "." : fmt::format(" {}.", capital(one.fact));
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

/// "never joined the process group", "does not get through the rendezvous".
std::string fault_in_short(const MissingRank& missing, Stage stage) {
  struct Words {
    std::string_view never;
    std::string_view inside;
  };
  constexpr std::array<Words, kStageCount> kWords{
      Words{"started", "the start"},
      Words{"loaded torch or jax", "the import of torch or jax"},
      Words{"came to the rendezvous", "the rendezvous"},
      Words{"joined the process group", "the start of the process group"},
      Words{"connected for collectives", "the connection for collectives"},
      Words{"joined the first collective", "the first collective"}};
  const Words& words = kWords.at(static_cast<std::size_t>(stage));
  if (missing.activity == Activity::dead)
    return fmt::format("ended ({}) before it {}", missing.doing, words.never);
  return missing.inside ? fmt::format("does not get through {}", words.inside)
                        : fmt::format("never {}", words.never);
}

/// Whether the ranks that are missing say more than the cause's title.
bool is_about_ranks(const Evidence& evidence, const Diagnosis& diagnosis) {
  const std::string_view cause = diagnosis.failure.cause;
  return !evidence.failure.missing.empty() &&
         (cause == cause::kTrainingStalled ||
          (evidence.failure.kind == FailureKind::hung &&
           (cause == cause::kRankMissing || cause == cause::kRankStopped ||
            cause == cause::kRankNotStarted)));
}

std::string headline_of(const Evidence& evidence) {
  const std::vector<MissingRank>& missing = evidence.failure.missing;
  const Stage stage = evidence.failure.stage.value_or(Stage::spawned);
  const MissingRank& first = missing.front();
  const bool alike = std::ranges::all_of(missing, [&](const MissingRank& one) {
    return one.inside == first.inside && one.activity == first.activity;
  });
  const std::string stopped = first.activity == Activity::stopped ? " (stopped)" : "";
  const std::string who = ranks_in_words(ranks_of(missing)) + (alike ? stopped : "");
  if (evidence.failure.kind == FailureKind::stalled)
    return who + (missing.size() == 1 ? " is behind" : " are behind");
  return who + " " + (alike ? fault_in_short(first, stage) : "did not come");
}

/// "train.py:12 load_data → wait" -> "train.py:12 in load_data → wait".
std::string as_place(std::string_view where) {
  const std::string_view place = source_place(where);
  where.remove_prefix(place.size());
  return where.empty() ? std::string(place) : fmt::format("{} in{}", place, where);
}

/// All that is said, with the places in the sentence.
std::string explanation(const Evidence& evidence, const Diagnosis& diagnosis) {
  const std::string facts = facts_of(evidence, diagnosis);
  if (const Confirmation* still = standstill_of(evidence)) return capital(still->fact) + ".";
  const std::string further = facts.empty() ? "" : " " + capital(facts);
  switch (evidence.failure.kind) {
    case FailureKind::hung:
    case FailureKind::stood_still:
    case FailureKind::driver_silent:
      return of_hang(evidence, diagnosis, Places::in_sentence) + further + remarks_of(evidence);
    case FailureKind::stalled:
      return of_stall(evidence, Places::in_sentence) + further + remarks_of(evidence);
    case FailureKind::rank_died:
    case FailureKind::raised:
    case FailureKind::failed:
      if (diagnosis.failure.cause == cause::kAbortAtExit)
        return of_abort_at_exit(evidence, diagnosis);
      return of_failure(evidence, diagnosis) + further + remarks_of(evidence);
    case FailureKind::world_size_mismatch:
    case FailureKind::duplicate_rank:
    case FailureKind::different_stores: return of_contradiction(evidence, facts, diagnosis);
    case FailureKind::not_started: return capital(facts);
    case FailureKind::interrupted:
    case FailureKind::given_up: break;
  }
  return {};
}

}  // namespace

std::vector<std::string> places_of(const std::vector<MissingRank>& missing) {
  std::vector<std::string> places;
  for (const MissingRank& one : told_of(missing))
    if (!one.where.empty())
      places.push_back(missing.size() == 1
                           ? as_place(one.where)
                           : fmt::format("{}  (rank {})", as_place(one.where), one.rank.value));
  return places;
}

void tell(const Evidence& evidence, Diagnosis& diagnosis) {
  Failure& failure = diagnosis.failure;
  failure.explanation = explanation(evidence, diagnosis);
  if (!is_about_ranks(evidence, diagnosis)) {
    failure.headline = failure.title;
    failure.details = failure.explanation;
    return;
  }
  const std::string facts = facts_of(evidence, diagnosis);
  failure.headline = headline_of(evidence);
  failure.places = places_of(evidence.failure.missing);
  failure.details =
      (failure.kind == FailureKind::stalled ? of_stall(evidence, Places::on_their_own)
                                            : of_hang(evidence, diagnosis, Places::on_their_own)) +
      (facts.empty() ? "" : " " + capital(facts)) + remarks_of(evidence);
}

}  // namespace safelaunch::diagnose
