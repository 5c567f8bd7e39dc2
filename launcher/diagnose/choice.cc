#include "case.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "log_line.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"

// The cause is chosen by the strongest evidence that there is. First what the state of the system
// proves (a killed rank after an OOM kill, a stopped one, a silent driver), whatever was printed.
// Then what the output shows: a cause before a symptom before a victim's words, unless the first
// rank ended by a status that no exception explains, and the words are another rank's. A hang whose
// output names no cause is judged by what the missing ranks do, or by its stage. At last a fact of
// the host confirms the cause, or replaces it by a more specific one.
namespace safelaunch::diagnose {
namespace {

CauseChoice the(const Case& now, std::string_view id, Certainty certainty) {
  return {&now.catalogue.at(id), certainty};
}

const Sighting* best(const Case& now, Kind kind, Strength strength = Strength::proof) {
  const auto found = std::ranges::find_if(now.sightings, [&](const Sighting& one) {
    return one.strength == strength && one.cause->kind == kind;
  });
  return found == now.sightings.end() ? nullptr : &*found;
}

Certainty certainty_of(const Sighting& one) {
  return only_fits(one) ? Certainty::guess : Certainty::matched;
}

bool was_killed(const FailedFirst& first) {
  return first.status == ExitStatus(Signaled{SIGKILL}) ||
         first.status == ExitStatus(Exited{128 + SIGKILL});
}

/// Whether the first rank's Python came to its end in order, with a status that it chose:
/// `sys.exit(1)`.
bool came_to_its_end(const Case& now) {
  const std::vector<Rank>& finished = now.evidence.finished;
  return now.first.rank && std::ranges::find(finished, *now.first.rank) != finished.end();
}

/// Whether the first rank ended by itself. A rank that ended with 1 or SIGABRT met an exception
/// of Python or C++, and its output tells which; any other status it chose or suffered itself, and
/// the words of other ranks do not explain it.
bool ended_by_itself(const Case& now) {
  if (!now.first.status || succeeded(*now.first.status)) return false;
  const bool raised = std::ranges::any_of(now.evidence.failure.raised, [&](const RankRaised& one) {
    return one.rank == now.first.rank;
  });
  const ExitStatus& status = *now.first.status;
  const bool chosen = came_to_its_end(now) || status != ExitStatus(Exited{1});
  return !raised && chosen && status != ExitStatus(Signaled{SIGABRT}) &&
         status != ExitStatus(Exited{128 + SIGABRT});
}

/// Whether a signal ended the launcher, or a command that is no rank, and nothing before it.
bool command_was_killed(const Case& now) {
  return !now.first.rank && now.first.status && std::holds_alternative<Signaled>(*now.first.status);
}

/// Whether the processor itself ended the rank: native code crashed, which leaves no words.
bool crashed(const FailedFirst& first) {
  constexpr std::array kCrashes{SIGSEGV, SIGFPE, SIGILL};
  return std::ranges::any_of(kCrashes, [&](int signal) {
    return first.status == ExitStatus(Signaled{signal}) ||
           first.status == ExitStatus(Exited{128 + signal});
  });
}

bool is_of_another(const Sighting& one, const FailedFirst& first) {
  return one.rank && first.rank && one.rank != first.rank;
}

/// The exception that a program has printed itself before it called sys.exit(1), as hydra does. It
/// may have printed it about anything, and one about a connection about one of its own.
const Sighting* printed_before_the_end(const Case& now) {
  if (!came_to_its_end(now) || now.first.status != ExitStatus(Exited{1})) return nullptr;
  const auto found = std::ranges::find_if(now.sightings, [&](const Sighting& one) {
    return one.cause->kind == Kind::cause && one.cause->retry == Retry::never &&
           one.strength == Strength::proof && !split_error(one.line).type.empty() &&
           !is_of_another(one, now.first);
  });
  return found == now.sightings.end() ? nullptr : &*found;
}

/// The cause of an end that nothing but itself explains.
CauseChoice of_the_end(const Case& now) {
  const Certainty certainty = now.first.status ? Certainty::confirmed : Certainty::guess;
  if (command_was_killed(now)) return the(now, cause::kCommandKilled, certainty);
  if (crashed(now.first)) return the(now, cause::kRankCrashed, certainty);
  if (const Sighting* printed = printed_before_the_end(now))
    return {printed->cause, Certainty::guess};
  if (now.first.rank) return the(now, cause::kRankDied, certainty);
  return the(now, cause::kCommandFailed,
             now.evidence.all_finished ? Certainty::confirmed : Certainty::guess);
}

/// Whether the first rank crashed between the beginning and the end of NCCL's init, which is hardly
/// the script's own fault.
bool crashed_in_nccl(const Case& now) {
  const bool inside =
      now.evidence.failure.stage == Stage::communicator &&
      std::ranges::any_of(now.evidence.failure.missing, [&](const MissingRank& one) {
        return one.inside && one.rank == now.first.rank;
      });
  const auto* killed = now.first.status ? std::get_if<Signaled>(&*now.first.status) : nullptr;
  constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
  return is_death(now.evidence.failure.kind) && inside && killed != nullptr &&
         std::ranges::find(kCrashes, killed->signal) != kCrashes.end();
}

/// Whether the line is why the rank ended with 2: Python's status for a script that it cannot open,
/// and argparse's for words that it refuses.
bool explains_usage(const Sighting& one, const Case& now) {
  constexpr std::array<std::string_view, 3> kOfUsage{cause::kScriptMissing, cause::kBadArguments,
                                                     cause::kLocalRankArgument};
  const bool of_usage = std::ranges::find(kOfUsage, one.cause->id) != kOfUsage.end();
  return of_usage && now.first.status == ExitStatus(Exited{2});
}

/// Whether a line may explain the end of a rank that ended by itself. A line that it printed before
/// a sys.exit(1) may be about anything, unless NCCL wrote the line, and an
/// exception of Python ends a rank with 1.
bool may_explain(const Sighting& one, const Case& now) {
  if (is_of_another(one, now.first) || one.cause->scope == Scope::exception) return false;
  if (one.cause->id == cause::kUserException && was_killed(now.first) &&
      now.evidence.finished.empty())
    return false;
  return !came_to_its_end(now) || explains_usage(one, now) ||
         one.line.find("NCCL") != std::string::npos;
}

/// The best line of a rank that lost its peer, unless another rank is known to have failed first.
/// The launcher's words about the end of its ranks do not count (their causes have no fallback).
const Sighting* best_victim(const Case& now) {
  const auto found = std::ranges::find_if(now.sightings, [&](const Sighting& one) {
    return one.cause->kind == Kind::victim && one.cause->retry == Retry::fallback &&
           !is_of_another(one, now.first);
  });
  return found == now.sightings.end() ? nullptr : &*found;
}

/// Whether the line is among the last of its output, so that its writer still stands there.
bool is_last_word(const Sighting& one, const Evidence& evidence) {
  constexpr std::ptrdiff_t kLines = 3;
  return std::ranges::any_of(evidence.output, [&](const Output& output) {
    const std::size_t at = output.text.rfind(one.line);
    if (output.source != one.source || at == std::string::npos) return false;
    const auto rest = output.text.begin() + static_cast<std::ptrdiff_t>(at);
    return std::count(rest, output.text.end(), '\n') <= kLines;
  });
}

/// The cause that the stack of a missing rank shows: the function that keeps it away.
const Cause* shown_by_stack(const Catalogue& catalogue, const MissingRank& missing) {
  const Cause* shown = nullptr;
  const std::string all = missing.where + ' ' + missing.doing + '\n' + missing.stack;
  for_each_line(all, [&](const LogLine& line) {
    for (const Match& match : catalogue.match(line.text))
      if (shown == nullptr && match.strength == Strength::absence) shown = match.cause;
  });
  return shown;
}

/// The ranks that lost a peer where another rank came to its end in order: confirmed where that one
/// was seen to end first.
CauseChoice of_one_that_left(const Case& now) {
  const std::vector<RankExited>& ended = now.evidence.failure.ended;
  const auto failed = std::ranges::find_if(
      ended, [](const RankExited& one) { return one.status && !succeeded(*one.status); });
  for (const Rank rank : now.evidence.finished) {
    const auto own = std::ranges::find(ended, rank, &RankExited::rank);
    if (rank == now.first.rank || (own != ended.end() && own->status && !succeeded(*own->status)))
      continue;
    return the(now, cause::kRankLeft, own < failed ? Certainty::confirmed : Certainty::guess);
  }
  return {};
}

/// torch's watchdog says that a collective hangs, and not why. Where all ranks have called their
/// first one, a hint at the reason tells more.
CauseChoice of_symptom(const Sighting& symptom, const Case& now) {
  const bool all_called = std::ranges::all_of(now.evidence.failure.missing, &MissingRank::inside);
  if (symptom.cause->id == cause::kWatchdogTimeout && all_called &&
      now.evidence.training == Training::not_begun)
    if (const Sighting* hint = best(now, Kind::cause, Strength::hint))
      return {hint->cause, Certainty::guess};
  return {symptom.cause, certainty_of(symptom)};
}

/// Why all ranks wait although all came.
CauseChoice of_waiting(const Case& now) {
  if (const Sighting* symptom = best(now, Kind::symptom)) return of_symptom(*symptom, now);
  for (const Strength strength : {Strength::warning, Strength::hint})
    if (const Sighting* hint = best(now, Kind::cause, strength))
      return {hint->cause, Certainty::guess};
  switch (now.evidence.failure.stage.value_or(Stage::spawned)) {
    case Stage::spawned:
    case Stage::imported: return the(now, cause::kStartStuck, Certainty::guess);
    case Stage::rendezvous: return the(now, cause::kStoreSilent, Certainty::guess);
    case Stage::group:
    case Stage::communicator: return the(now, cause::kInitStuck, Certainty::guess);
    case Stage::collective: break;
  }
  return the(now, cause::kCollectiveStuck,
             now.evidence.all_in_one_collective ? Certainty::confirmed : Certainty::guess);
}

/// Why the missing ranks have not come: by their state, their stacks, or their last words.
CauseChoice of_absence(const Case& now) {
  const std::vector<MissingRank>& missing = now.evidence.failure.missing;
  const auto ended = std::ranges::find(missing, Activity::dead, &MissingRank::activity);
  if (ended != missing.end()) {
    const bool in_order = ended->status && succeeded(*ended->status);
    return the(now, in_order ? cause::kRankLeft : cause::kRankDied, Certainty::confirmed);
  }
  for (const char* cause : {cause::kRankNotStarted, cause::kDifferentStores,
                            cause::kLockAcrossCollective, cause::kLockLeft, cause::kChildDied})
    if (proved(now.evidence, cause)) return the(now, cause, Certainty::confirmed);
  for (const MissingRank& one : missing)
    if (const Cause* cause = shown_by_stack(now.catalogue, one)) return {cause, Certainty::matched};
  const auto told = std::ranges::find_if(now.sightings, [&](const Sighting& one) {
    const bool by_missing = std::ranges::any_of(
        missing, [&](const MissingRank& rank) { return one.rank == rank.rank; });
    return one.strength == Strength::absence && (!one.rank || by_missing) &&
           is_last_word(one, now.evidence);
  });
  if (told != now.sightings.end()) return {told->cause, Certainty::guess};
  if (proved(now.evidence, cause::kStartStuck))
    return the(now, cause::kStartStuck, Certainty::confirmed);
  const auto works = [](const MissingRank& one) { return one.activity == Activity::working; };
  // A rank that waits for its device spins: inside the collective, work is no way to it.
  if (std::ranges::all_of(missing, works))
    return std::ranges::all_of(missing, &MissingRank::inside)
               ? of_waiting(now)
               : the(now, cause::kRankBusy, Certainty::confirmed);
  const bool seen = std::ranges::any_of(missing, [](const MissingRank& one) {
    return one.activity != Activity::unseen || !one.where.empty();
  });
  if (seen) return the(now, cause::kRankMissing, Certainty::confirmed);
  // The missing ranks may be on another host; then warnings of the ranks that call them tell more.
  if (const Sighting* way = best(now, Kind::symptom, Strength::warning))
    return {way->cause, Certainty::guess};
  return the(now, cause::kRankMissing, Certainty::guess);
}

bool has_stopped(const Evidence& evidence) {
  return hung(evidence) &&
         std::ranges::find(evidence.failure.missing, Activity::stopped, &MissingRank::activity) !=
             evidence.failure.missing.end();
}

/// Whether the first rank aborted after its program had come to its end. The abort is no fault of
/// the script, and the words of other ranks about it are no reason. Where torch's watchdog gave a
/// collective up, the program came to its end because it no longer waited for it.
bool aborted_at_its_end(const Case& now) {
  const bool ended =
      is_death(now.evidence.failure.kind) || now.evidence.failure.kind == FailureKind::failed;
  const Sighting* symptom = best(now, Kind::symptom);
  const bool was_given_up = symptom != nullptr && symptom->cause->id == cause::kWatchdogTimeout;
  return ended && !was_given_up && came_to_its_end(now) &&
         (now.first.status == ExitStatus(Signaled{SIGABRT}) ||
          now.first.status == ExitStatus(Exited{128 + SIGABRT}));
}

/// The cause of a standstill in training: the exception of a rank that others wait for, which waits
/// itself before the exception comes out.
CauseChoice of_standstill(const Case& now) {
  const std::vector<MissingRank>& missing = now.evidence.failure.missing;
  for (const RankRaised& raised : now.evidence.hidden) {
    if (std::ranges::find(missing, raised.rank, &MissingRank::rank) == missing.end()) continue;
    const auto shown = std::ranges::find(now.sightings, raised.rank, &Sighting::rank);
    if (shown != now.sightings.end() && shown->cause->kind == Kind::cause)
      return {shown->cause, certainty_of(*shown)};
  }
  return the(now, cause::kTrainingStalled,
             missing.empty() ? Certainty::guess : Certainty::confirmed);
}

/// The cause that the state of the system proves, whatever the output says; none if nothing does.
CauseChoice by_state(const Case& now) {
  const Evidence& evidence = now.evidence;
  if (evidence.failure.kind == FailureKind::world_size_mismatch)
    return the(now, cause::kWorldSizeMismatch, Certainty::confirmed);
  if (evidence.failure.kind == FailureKind::duplicate_rank)
    return the(now, cause::kDuplicateRank, Certainty::confirmed);
  if (evidence.failure.kind == FailureKind::not_started)
    return evidence.failure.certainty == Certainty::confirmed
               ? the(now, cause::kNodesMissing, Certainty::confirmed)
               : the(now, cause::kConnectFailed, Certainty::guess);
  if (evidence.failure.kind == FailureKind::different_stores)
    return the(now, cause::kDifferentStores, Certainty::confirmed);
  if (evidence.oom_kills.value_or(0) > 0 && was_killed(now.first))
    return the(now, cause::kHostOom, Certainty::confirmed);
  if (has_stopped(evidence)) return the(now, cause::kRankStopped, Certainty::confirmed);
  if (aborted_at_its_end(now)) return the(now, cause::kAbortAtExit, Certainty::confirmed);
  for (const char* cause : {cause::kDriverSilent, cause::kStaleInitFile, cause::kRanksDisagree,
                            cause::kMessagesInACircle})
    if (proved(evidence, cause)) return the(now, cause, Certainty::confirmed);
  if (evidence.failure.kind == FailureKind::stalled) return of_standstill(now);
  return {};
}

CauseChoice by_texts(const Case& now) {
  const Sighting* cause = best(now, Kind::cause);
  const bool in_nccl = crashed_in_nccl(now);
  const bool by_itself = !hung(now.evidence) && !in_nccl && ended_by_itself(now);
  if (cause != nullptr && (!by_itself || may_explain(*cause, now)))
    return {cause->cause, certainty_of(*cause)};
  if (hung(now.evidence))
    return now.evidence.failure.missing.empty() ? of_waiting(now) : of_absence(now);
  if (in_nccl) return the(now, cause::kNcclCrash, Certainty::confirmed);
  if (by_itself) return of_the_end(now);
  if (const Sighting* symptom = best(now, Kind::symptom)) return of_symptom(*symptom, now);
  if (const Sighting* warning = best(now, Kind::cause, Strength::warning))
    return {warning->cause, Certainty::guess};
  if (const Sighting* victim = best_victim(now)) {
    const CauseChoice left = of_one_that_left(now);
    return left.cause != nullptr ? left : CauseChoice{victim->cause, Certainty::guess};
  }
  return of_the_end(now);
}

/// Whether a line names a process of an earlier attempt: "… Process 4711 has 70.1 GiB memory …".
bool names_former(const Sighting& one, const Evidence& evidence) {
  return std::ranges::any_of(evidence.former_pids, [&](int pid) {
    return one.line.find(fmt::format("Process {} has ", pid)) != std::string::npos;
  });
}

/// Confirms the cause by facts of the host, or replaces it by a more specific one that they prove.
CauseChoice refined(CauseChoice choice, const Case& now) {
  std::vector<Confirmation> facts = now.evidence.confirmations;
  for (const Sighting& one : now.sightings)
    if (names_former(one, now.evidence)) facts.push_back({cause::kGpuMemoryDraining, one.line});
  for (const Confirmation& fact : facts) {
    const Cause* known = now.catalogue.find(fact.cause);
    if (known == nullptr) continue;
    if (known == choice.cause || beats(*known, *choice.cause))
      choice = {known, Certainty::confirmed};
  }
  return choice;
}

}  // namespace

CauseChoice choose(const Case& now) {
  CauseChoice choice = by_state(now);
  if (choice.cause == nullptr) choice = by_texts(now);
  return refined(choice, now);
}

}  // namespace safelaunch::diagnose
