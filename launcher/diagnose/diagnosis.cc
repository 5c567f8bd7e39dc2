#include "safelaunch/diagnose/diagnosis.h"

#include <algorithm>
#include <array>
#include <span>

#include "case.h"
#include "log_line.h"
#include "safelaunch/base/cause_ids.h"

// A diagnosis is made in four steps: the case (case.cc) gathers the lines that show causes,
// choice.cc picks one, decide() tells what may follow, and what_happened.cc puts it into a
// sentence. The rank that failed first is looked for again once the cause is known, since its lines
// are a further sign.
namespace safelaunch::diagnose {
namespace {

/// The port in the words of torch ("port: 29500", "[::]:29500 (errno") and accelerate ("port
/// `29500`", at the begin of a sentence "Port `29500`").
std::optional<int> port_named(std::string_view line) {
  for (const std::string_view words : {"port: ", "port `", "Port `", "[::]:", "0.0.0.0:"})
    if (const auto number = number_after(line, words)) return number;
  return std::nullopt;
}

bool is_port(const Cause& cause) {
  return cause.id == cause::kPortTaken || cause.id == cause::kJaxPortTaken ||
         cause.id == cause::kStoreForeign;
}

std::vector<int> ports_in(std::span<const Sighting> sightings) {
  std::vector<int> ports;
  for (const Sighting& one : sightings) {
    const std::optional<int> named = is_port(*one.cause) ? port_named(one.line) : std::nullopt;
    if (named && std::ranges::find(ports, *named) == ports.end()) ports.push_back(*named);
  }
  return ports;
}

/// Whether safelaunch chose the port, and every port in the lines and facts is that one. If another
/// is named, the script set one of its own, which safelaunch cannot change.
bool port_is_ours(const Case& now) {
  const auto& port = now.evidence.port;
  if (!port || port->choice != RendezvousPort::Choice::ours) return false;
  std::vector<int> named = ports_in(now.sightings);
  for (const Confirmation& fact : now.evidence.confirmations)
    if (fact.port) named.push_back(*fact.port);
  return std::ranges::all_of(named, [&](int one) { return one == port->number; });
}

/// A fault of the script or of its arguments, which would come again however far the job came.
bool is_mistake(std::string_view cause) {
  constexpr std::array<std::string_view, 5> kMistakes{cause::kUserException, cause::kModuleMissing,
                                                      cause::kGroupNotInitialized,
                                                      cause::kBadArguments, cause::kScriptMissing};
  return std::ranges::find(kMistakes, cause) != kMistakes.end();
}

Decision decide(const Case& now, const Cause& cause) {
  const Evidence& evidence = now.evidence;
  if (evidence.signal) return Stop{StopReason::signalled};
  if (cause.id == cause::kAbortAtExit) return Stop{StopReason::finished};
  if (is_mistake(cause.id) && !is_stuck(evidence.failure.kind)) return Stop{StopReason::users_own};
  if (evidence.training == Training::begun) return Stop{StopReason::training_begun};
  if (evidence.training == Training::served) return Stop{StopReason::had_served};
  if (evidence.autotuning) return Stop{StopReason::autotuning};
  if (cause.id == cause::kRankMissing && evidence.failure.stage == Stage::communicator)
    return Stop{StopReason::stays_away};
  if (cause.retry == Retry::never)
    return Stop{is_users_own(cause.id) ? StopReason::users_own : StopReason::hopeless};
  // Ranks whose port is taken have met nobody.
  if (evidence.training == Training::unseen && !is_port(cause))
    return Stop{StopReason::training_unseen};
  if (cause.retry == Retry::fallback) return FallBack{};
  if (is_port(cause) && !port_is_ours(now)) return Stop{StopReason::port_of_user};
  if (evidence.retries_of_profile >= kRetriesOfProfile) return Stop{StopReason::retries_used_up};
  using With = RetrySame::With;
  return RetrySame{cause.backoff, is_port(cause) ? With::another_port : With::nothing_new};
}

/// Whether training that failed so may do better from its checkpoint: a mistake of the script, or
/// too little memory on a GPU, would come again.
bool passes(const Case& now, const Cause& cause, const Decision& decision) {
  constexpr std::array<std::string_view, 7> kFromOutside{
      cause::kRankDied,       cause::kCommandKilled, cause::kHostOom,    cause::kChildDied,
      cause::kDataLoaderDied, cause::kDeviceFailure, cause::kRankCrashed};
  const auto* stop = std::get_if<Stop>(&decision);
  if (stop == nullptr ||
      (stop->reason != StopReason::training_begun && stop->reason != StopReason::had_served))
    return false;
  return is_stuck(now.evidence.failure.kind) || cause.retry != Retry::never ||
         std::ranges::find(kFromOutside, cause.id) != kFromOutside.end();
}

/// Whether the rank raised an exception that has nothing to do with the others.
bool raised_by_itself(const Evidence& evidence, Rank rank) {
  return std::ranges::any_of(evidence.failure.raised, [&](const RankRaised& raised) {
    return raised.rank == rank && !raised.communication;
  });
}

/// The ranks that raised or printed a victim's line, or ended too without an exception of their
/// own.
std::vector<Rank> victims_of(const Case& now, std::optional<Rank> first) {
  std::vector<Rank> victims;
  for (const Sighting& one : now.sightings)
    if (one.rank && one.rank != first && one.cause->kind == Kind::victim)
      victims.push_back(*one.rank);
  for (const RankExited& ended : now.evidence.failure.ended)
    if (ended.rank != first && !raised_by_itself(now.evidence, ended.rank))
      victims.push_back(ended.rank);
  std::ranges::sort(victims);
  victims.erase(std::unique(victims.begin(), victims.end()), victims.end());
  return victims;
}

/// The lines of the chosen cause first, then the other lines that report a failure.
std::vector<Sighting> shown_by(std::vector<Sighting> all, const Cause& cause) {
  std::stable_partition(all.begin(), all.end(),
                        [&](const Sighting& one) { return one.cause == &cause; });
  std::erase_if(all, [&](const Sighting& one) {
    return one.strength != Strength::proof && one.cause != &cause;
  });
  return all;
}

/// Whether a rank failed by an exception.
bool ended_by_exception(const Evidence& evidence) {
  return std::ranges::any_of(evidence.failure.raised, [&](const RankRaised& raised) {
    return ended_its_rank(raised, evidence);
  });
}

int status_after_signal(const Evidence& evidence) {
  const int told_to_end = shell_code(Signaled{*evidence.signal});
  for (const auto* ends : {&evidence.failure.ended, &evidence.ended_in_stop}) {
    const auto own = std::ranges::find_if(*ends, chosen, &RankExited::status);
    if (own != ends->end()) return shell_code(*own->status);
  }
  if (!evidence.command || by_the_stop(*evidence.command)) return told_to_end;
  const bool says_nothing = evidence.command_hides && !succeeded(*evidence.command);
  return says_nothing ? told_to_end : shell_code(*evidence.command);
}

/// Whether ranks never met that their launcher started again, after an exception of their own or a
/// wait for one of them.
bool failed_to_meet_again(const Evidence& evidence, std::string_view cause) {
  constexpr std::array<std::string_view, 6> kOfMeeting{cause::kGlooConnect,  cause::kConnectFailed,
                                                       cause::kStoreTimeout, cause::kStoreSilent,
                                                       cause::kInitStuck,    cause::kCommError};
  return std::ranges::find(kOfMeeting, cause) != kOfMeeting.end() &&
         (evidence.wait_before ||
          std::ranges::any_of(evidence.raised_before,
                              [](const RankRaised& one) { return !one.communication; }));
}

/// What ended the ranks' life before is what has to be mended: torch's static rendezvous hands the
/// addresses of that life to the next one, which meets nobody there.
Evidence of_the_life_before(Evidence evidence) {
  evidence.failure = evidence.wait_before.value_or(Failure{.kind = FailureKind::raised});
  evidence.failure.raised = evidence.raised_before;
  evidence.output.clear();
  evidence.told.reset();
  evidence.remarks = {
      "its launcher started the ranks again, and they could not connect to each other"};
  return evidence;
}

Diagnosis diagnose_life(const Evidence& evidence, const Catalogue& catalogue) {
  const Case now = open_case(evidence, catalogue);
  const CauseChoice choice = choose(now);
  const Cause& cause = *choice.cause;
  Diagnosis diagnosis{.failure = evidence.failure,
                      .shown_by = shown_by(now.sightings, cause),
                      .commands = cause.commands,
                      .decision = decide(now, cause)};
  Failure& failure = diagnosis.failure;
  failure.cause = cause.id;
  failure.title = cause.title;
  failure.certainty = choice.certainty;
  failure.remedy = cause.remedy;
  diagnosis.passes = passes(now, cause, diagnosis.decision);
  failure.communication = !std::holds_alternative<Stop>(diagnosis.decision);
  FirstSigns signs = now.signs;
  signs.shows_cause = shows(cause, diagnosis.shown_by);
  failure.first = first_failed(signs);
  failure.victims = victims_of(now, failure.first);
  tell(evidence, diagnosis);
  return diagnosis;
}

}  // namespace

bool is_users_own(std::string_view cause) {
  constexpr std::array<std::string_view, 5> kEnds{cause::kRankDied, cause::kRankLeft,
                                                  cause::kRankCrashed, cause::kCommandKilled,
                                                  cause::kCommandFailed};
  return is_mistake(cause) || std::ranges::find(kEnds, cause) != kEnds.end();
}

const char* describe(StopReason reason) {
  switch (reason) {
    case StopReason::users_own: return "the failure is the script's own";
    case StopReason::hopeless: return "every profile would fail alike";
    case StopReason::stays_away: return "a rank never came to connect, and no profile changes that";
    case StopReason::training_begun:
      return "ranks had finished a collective, so training may have begun, and a second start "
             "could repeat or overwrite work";
    case StopReason::had_served: return "the server had answered requests before";
    case StopReason::training_unseen:
      return "no rank was seen to start, so training may have begun, and a second start could "
             "repeat or overwrite work";
    case StopReason::finished: return "the program had finished";
    case StopReason::signalled: return "safelaunch was told to stop";
    case StopReason::autotuning: return "DeepSpeed's autotuner starts its runs by itself";
    case StopReason::port_of_user: return "the port is not safelaunch's to choose";
    case StopReason::retries_used_up: return "the failure did not pass by itself";
  }
  return "";
}

Diagnosis diagnose(const Evidence& evidence, const Catalogue& catalogue) {
  Diagnosis diagnosis = diagnose_life(evidence, catalogue);
  if (hung(evidence) || !failed_to_meet_again(evidence, diagnosis.failure.cause)) return diagnosis;
  return diagnose_life(of_the_life_before(evidence), catalogue);
}

std::vector<int> ports_said_taken(const Evidence& evidence, const Catalogue& catalogue) {
  return ports_in(open_case(evidence, catalogue).sightings);
}

int exit_status_of(const Evidence& evidence, const Diagnosis& diagnosis) {
  constexpr int kHung = 124;  // the status of timeout(1)
  if (evidence.signal) return status_after_signal(evidence);
  const bool by_us = is_stuck(evidence.failure.kind) && !evidence.failure.timed_out;
  if (by_us && !ended_by_exception(evidence)) return kHung;
  // A script that caught the failure of its ranks has the last word. Python's 1 is an exception
  // that nobody caught, and the rank's own status tells more.
  const bool tells = evidence.command && !evidence.command_hides && chosen(evidence.command) &&
                     evidence.command != ExitStatus(Exited{1});
  if (tells) return shell_code(*evidence.command);
  // Of a wait that timed out the end counts of the rank that gave up, and not the cause's.
  const bool timed_out = evidence.failure.timed_out && !evidence.failure.ended.empty();
  const auto status = status_of(
      evidence, timed_out ? evidence.failure.ended.front().rank : diagnosis.failure.first);
  const int code = status ? shell_code(*status) : 1;
  return code == 0 ? 1 : code;
}

}  // namespace safelaunch::diagnose
