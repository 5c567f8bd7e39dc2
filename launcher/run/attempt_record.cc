#include "attempt_record.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <iterator>
#include <span>
#include <utility>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/endpoint.h"
#include "safelaunch/base/first_failed.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/diagnose/failure_words.h"
#include "safelaunch/host/network.h"
#include "safelaunch/job/launcher_report.h"
#include "timed_out.h"

// An attempt is judged by what was gathered while it ran. make_evidence() puts its record into the
// words of the diagnosis: the verdict and where the missing ranks stood, then how ranks ended, then
// what every stream and NCCL's log said. Everything that safelaunch itself did to the job is left
// out, since it would look like a failure of the job's own.
namespace safelaunch::run {
namespace {

// The cause that a verdict is a proof of by itself; empty: none.
const char* proved_by(const Failure& verdict) {
  switch (verdict.kind) {
    case FailureKind::world_size_mismatch: return cause::kWorldSizeMismatch;
    case FailureKind::duplicate_rank: return cause::kDuplicateRank;
    case FailureKind::different_stores: return cause::kDifferentStores;
    case FailureKind::not_started:
      return verdict.certainty == Certainty::confirmed ? cause::kNodesMissing : "";
    case FailureKind::stood_still: return cause::kStartStuck;
    case FailureKind::driver_silent: return cause::kDriverSilent;
    case FailureKind::hung:
    case FailureKind::stalled:
    case FailureKind::rank_died:
    case FailureKind::raised:
    case FailureKind::failed:
    case FailureKind::interrupted:
    case FailureKind::given_up: break;
  }
  return "";
}

void take_verdict(const Failure& verdict, const ranks::RankAnswers& answers,
                  diagnose::Evidence& evidence) {
  evidence.failure = verdict;
  // The two WORLD_SIZEs, the two processes of one rank, the question that had no answer, where all
  // stand.
  if (const std::string cause = proved_by(verdict); !cause.empty())
    evidence.confirmations.push_back({cause, verdict.proof});
  for (MissingRank& missing : evidence.failure.missing) ranks::put_place(answers, missing);
}

// Whether the main thread waits for another thread of its process, or for what one was to hand it:
// by Python's own library, and not in a sleep or in a call that has nothing to do with it.
bool waits_for_a_thread(const MissingRank& missing) {
  constexpr std::array<std::string_view, 4> kWaits{
      "/threading.py:", "/queue.py:", "/concurrent/futures/", "/asyncio/"};
  const std::string_view frame = innermost_frame(missing.stack);
  return std::ranges::any_of(
      kWaits, [&](std::string_view file) { return frame.find(file) != std::string_view::npos; });
}

// Adds the exceptions that nobody prints: a rank waits before its exception comes out, or waits for
// a thread or a child that has gone.
void take_hidden(const ranks::RanksSeen& ranks, diagnose::Evidence& evidence) {
  const FailureKind kind = evidence.failure.kind;
  if (kind != FailureKind::hung && kind != FailureKind::stalled) return;
  const auto before = std::ranges::find(ranks.raised_before, false, &RankRaised::communication);
  if (before != ranks.raised_before.end())
    evidence.remarks.push_back(
        fmt::format("rank {} had raised {}, and the launcher started the ranks again",
                    before->rank.value, ranks::in_words(*before)));
  for (watch::ExceptionTold& told : ranks::held_back(ranks.answers)) {
    evidence.remarks.push_back(ranks::describe_held_back(told));
    evidence.hidden.push_back(std::move(told.raised));
  }
  for (const MissingRank& missing : evidence.failure.missing) {
    if (const auto thread = ranks.threads_raised.find(missing.rank);
        thread != ranks.threads_raised.end()) {
      if (waits_for_a_thread(missing)) evidence.hidden.push_back(thread->second);
      evidence.remarks.push_back(fmt::format("a thread of rank {} raised {}", missing.rank.value,
                                             ranks::in_words(thread->second)));
    }
    if (const auto child = ranks.children_died.find(missing.rank);
        child != ranks.children_died.end())
      evidence.confirmations.push_back(
          {cause::kChildDied,
           fmt::format("A child of rank {} (pid {}) had ended: {}", missing.rank.value,
                       child->second.pid, describe(child->second.status))});
  }
}

// A lock of the missing ranks: held by a rank that waits for them, or by nobody.
void take_locks(const ranks::LockWaits& locks, diagnose::Evidence& evidence) {
  const Failure& failure = evidence.failure;
  if (failure.kind != FailureKind::hung || locks.empty()) return;
  const std::string text = describe(locks);
  const auto all_missing = [&](const auto& fits) {
    return !failure.missing.empty() &&
           std::ranges::all_of(failure.missing, [&](const MissingRank& missing) {
             const auto wait = locks.find(missing.rank);
             return wait != locks.end() && fits(wait->second);
           });
  };
  const auto holder_waits = [&](const ranks::LockWait& wait) {
    return wait.holder && std::ranges::find(failure.waiting, *wait.holder) != failure.waiting.end();
  };
  if (all_missing(holder_waits))
    evidence.confirmations.push_back(
        {cause::kLockAcrossCollective, text + ", and that rank waits for them meanwhile"});
  else if (all_missing([](const ranks::LockWait& wait) { return !wait.lock.holder; }))
    evidence.confirmations.push_back({cause::kLockLeft, text});
  else
    evidence.remarks.push_back(text);
}

// Adds what torch's own counters tell beyond the stages: which rank called which collective.
void take_collectives(const ranks::RanksSeen& ranks, diagnose::Evidence& evidence) {
  const ranks::RankAnswers& answers = ranks.answers;
  Failure& failure = evidence.failure;
  if (!is_hang(failure.kind) && failure.kind != FailureKind::stalled) return;
  const watch::CollectivesCompared compared = watch::compare(answers.collectives);
  // Those that stand in a collective wait, and are not missing.
  const bool all_inside = std::ranges::all_of(failure.missing, &MissingRank::inside);
  if (!compared.contradiction.empty() || (all_inside && !compared.behind.empty())) {
    failure.waiting = compared.waiting;
    failure.missing.clear();
    for (const Rank rank : compared.behind) {
      failure.missing.push_back({.rank = rank, .known = false});
      ranks::put_place(answers, failure.missing.back());
    }
  }
  // The ranks do different things because one of them has failed.
  if (!compared.contradiction.empty() && !evidence.hidden.empty())
    evidence.remarks.push_back(compared.contradiction);
  else if (!compared.contradiction.empty())
    evidence.confirmations.push_back(
        {compared.of_messages ? cause::kMessagesInACircle : cause::kRanksDisagree,
         compared.contradiction});
  evidence.all_in_one_collective =
      ranks.world_size > 0 &&
      compared.together.size() == static_cast<std::size_t>(ranks.world_size);
  if (!compared.behind_what.empty()) evidence.remarks.push_back(compared.behind_what);
  // Until the group is made the others wait in its store, for the rank that is missing.
  const bool is_news =
      failure.missing.empty() || failure.stage.value_or(Stage::collective) > Stage::group;
  if (is_news && !compared.store_waits.empty()) evidence.remarks.push_back(compared.store_waits);
}

// The place of every rank, but those of missing ranks that the explanation tells anyway.
void take_places(ranks::RankAnswers answers, diagnose::Evidence& evidence) {
  const FailureKind kind = evidence.failure.kind;
  if (kind != FailureKind::hung && kind != FailureKind::stalled) return;
  for (const MissingRank& missing : evidence.failure.missing) {
    answers.stacks.erase(missing.rank);
    answers.silent.erase(missing.rank);
  }
  const std::string places = ranks::where_ranks_stand(answers);
  if (!places.empty()) evidence.remarks.push_back(places);
}

// Ranks that give one group different members meet the wrong ranks, or nobody.
void take_groups(const ranks::RanksSeen& ranks, diagnose::Evidence& evidence) {
  const std::string differ = watch::groups_that_differ(ranks.groups);
  if (differ.empty()) return;
  evidence.confirmations.push_back(
      {cause::kRanksDisagree,
       differ + "; all ranks must call new_group with the same lists, in the same order"});
}

// The rank that waited for the lock went on to import the library that nobody had made.
void take_cut_off_build(const AttemptRecord& record, diagnose::Evidence& evidence) {
  const std::string& lock = record.ranks.cut_off_build;
  if (!lock.empty() && std::ranges::any_of(record.ranks.raised, [](const RankRaised& raised) {
        return raised.type == "ImportError";
      }))
    evidence.confirmations.push_back(
        {cause::kExtensionCutOff,
         fmt::format("The lock of a build that was cut off was removed: {}", lock)});
}

void take_troubled_gpus(const AttemptRecord& record, diagnose::Evidence& evidence) {
  std::map<std::string, std::vector<std::string>> facts;
  for (const Finding& one : record.troubled_gpus) facts[one.cause].push_back(one.evidence);
  for (const auto& [cause, texts] : facts)
    evidence.confirmations.push_back({cause, "Asked after the error: " + join(texts, "; ")});
}

// A Python launcher of which no rank was seen has failed before it started any, unless they run
// where nobody here can look.
diagnose::Training training_of(const AttemptRecord& record, const AttemptContext& context) {
  if (record.training)
    return record.serves ? diagnose::Training::served : diagnose::Training::begun;
  const bool began = record.ranks.began || record.ranks.nccl.any ||
                     (record.verdict && is_stuck(record.verdict->kind));
  const bool no_rank_yet =
      context.ranks_below && job::hides_statuses(context.launcher) && record.ranks.world_size == 0;
  return began || no_rank_yet ? diagnose::Training::not_begun : diagnose::Training::unseen;
}

void take_outputs(const AttemptRecord& record, diagnose::Evidence& evidence) {
  for (const AttemptRecord::Tail& tail : record.tails) {
    if (tail.text.empty()) continue;
    const char* stream = tail.stream.stream == output::StdStream::out ? "out" : "err";
    const std::string source = tail.stream.rank
                                   ? fmt::format("rank-{}.{}", tail.stream.rank->value, stream)
                                   : fmt::format("launcher.{}", stream);
    evidence.output.push_back(
        {source, tail.stream.rank, diagnose::with_rank_tags(tail.text, record.ranks.pids)});
  }
}

std::string described(const std::set<nccl::Version>& versions) {
  std::string text = "The ranks run different versions of NCCL:";
  for (const nccl::Version& version : versions) text += " " + to_string(version);
  return text;
}

// Adds NCCL's own words, and the ranks that came to it, since ranks that wait there write nothing.
void take_nccl(const nccl::Record& nccl, diagnose::Evidence& evidence) {
  for (const nccl::Record::Log& log : nccl.logs)
    evidence.output.push_back({log.name, log.rank, log.text});
  if (nccl.versions.size() > 1)
    evidence.confirmations.push_back({cause::kNcclMismatch, described(nccl.versions)});
  const std::string standing = describe_standing(nccl);
  if (standing.empty() || evidence.failure.stage.value_or(Stage::spawned) < Stage::communicator)
    return;
  evidence.remarks.push_back(standing);
}

// A rank that ended with 0 has come to its end too, whoever saw it.
void take_finished(const ranks::RanksSeen& ranks, diagnose::Evidence& evidence) {
  std::set<Rank> finished = ranks.finished;
  for (const auto* exits : {&ranks.exits, &ranks.late_exits})
    for (const RankExited& exited : *exits)
      if (exited.status && succeeded(*exited.status)) finished.insert(exited.rank);
  evidence.finished.assign(finished.begin(), finished.end());
  evidence.all_finished =
      ranks.world_size > 0 && finished.size() >= static_cast<std::size_t>(ranks.world_size);
}

// Whether those that are missing knock at another host, while the others have a store of this one.
// Over nodes a name may be an alias of this host's, and a firewall the reason.
bool knock_at_another_host(const ranks::RanksSeen& ranks, const diagnose::Evidence& evidence) {
  const std::vector<MissingRank>& missing = evidence.failure.missing;
  const auto is_missing = [&](Rank rank) {
    return std::ranges::find(missing, rank, &MissingRank::rank) != missing.end();
  };
  const auto knocks = [&](const MissingRank& one) {
    const auto store = ranks.knocking.find(one.rank);
    return one.activity != Activity::stopped && store != ranks.knocking.end() &&
           ranks.stores_here.elsewhere.contains(store->second) &&
           (evidence.nodes == 1 || host::is_address(endpoint_host(store->second)));
  };
  return !missing.empty() && std::ranges::all_of(missing, knocks) &&
         std::ranges::none_of(ranks.stores, [&](const auto& one) {
           return !is_missing(one.first) && ranks.stores_here.elsewhere.contains(one.second);
         });
}

// Ranks that are given different stores never meet: one has another MASTER_ADDR or MASTER_PORT. A
// host may have several names, and a rank that is through may have been in another world.
void take_stores(const ranks::RanksSeen& ranks, diagnose::Evidence& evidence) {
  if (!is_hang(evidence.failure.kind) || ranks.knocking.empty()) return;
  const std::string text = ranks::different_stores(ranks.stores);
  if (!text.empty() && knock_at_another_host(ranks, evidence))
    evidence.confirmations.push_back({cause::kDifferentStores, text});
  else if (!text.empty())
    evidence.remarks.push_back(text);
  if (evidence.failure.missing.empty() && !ranks.stores_here.unopened.empty())
    evidence.confirmations.push_back(
        {cause::kStoreNotOpened, "Nobody listens at " + ranks.stores_here.unopened});
}

// The ranks find in it the addresses of those that wrote it. A rank of this job may have been there
// before the first that is seen.
void take_init_file(const AttemptRecord& record, diagnose::Evidence& evidence) {
  const auto& file = record.ranks.init_file;
  if (!file || file->bytes == 0 || record.ranks.init_file_written >= record.began) return;
  evidence.confirmations.push_back(
      {cause::kStaleInitFile,
       fmt::format("The ranks meet in the file {}, which was {} old and not empty when the first "
                   "rank came",
                   file->path, describe_duration(file->age))});
}

// A rank that no process of the job has come as, while each that has come is seen and waits.
void take_absent(const AttemptRecord& record, const AttemptContext& context,
                 diagnose::Evidence& evidence) {
  const std::vector<MissingRank>& missing = evidence.failure.missing;
  const bool none_came =
      !missing.empty() && std::ranges::all_of(missing, [](const MissingRank& one) {
        return !one.known && one.activity == Activity::idling && one.where.empty();
      });
  const auto world = static_cast<std::size_t>(record.ranks.world_size);
  if (evidence.failure.kind != FailureKind::hung || !none_came || context.nodes > 1 ||
      evidence.failure.waiting.size() + missing.size() != world)
    return;
  if (const std::string& nameless = record.ranks.answers.nameless; !nameless.empty()) {
    evidence.remarks.push_back(nameless);
    return;
  }
  evidence.confirmations.push_back(
      {cause::kRankNotStarted, fmt::format("The world is said to have {} ranks, and {} came", world,
                                           evidence.failure.waiting.size())});
  evidence.nameless = record.ranks.raised_nameless;
  for (const RankRaised& one : evidence.nameless)
    evidence.remarks.push_back(
        fmt::format("a process that came as no rank raised {}", ranks::in_words(one)));
}

// 2 is argparse's status for arguments that it does not know.
void take_added_arguments(const AttemptRecord& record, const AttemptContext& context,
                          diagnose::Evidence& evidence) {
  const auto refuses = [](const RankExited& one) { return one.status == ExitStatus(Exited{2}); };
  const bool refused =
      record.command == ExitStatus(Exited{2}) || std::ranges::any_of(record.ranks.exits, refuses);
  if (context.added_arguments.empty() || !refused) return;
  std::vector<std::string> words;
  std::ranges::transform(context.added_arguments, std::back_inserter(words), shell_word);
  evidence.remarks.push_back(
      fmt::format("The profile had added {} to the script's arguments", join(words, " ")));
}

// The stream on which this launcher reports: deepspeed's logger writes to stdout. Where both lead
// to one place, all text is stdout's.
bool on_its_stream(job::Launcher launcher, const diagnose::Output& output,
                   std::span<const diagnose::Output> all) {
  if (output.source == "launcher.err") return launcher != job::Launcher::deepspeed;
  if (output.source != "launcher.out") return false;
  return launcher != job::Launcher::torchrun ||
         std::ranges::none_of(
             all, [](const diagnose::Output& other) { return other.source == "launcher.err"; });
}

// A job prints what it likes, such as the last lines of another run's log. So a report decides a
// status only where it is this launcher's own beyond doubt: the launcher hides statuses and has
// hidden one, it says so on its own stream, and it names a process that was seen as a rank, or has
// said nothing since.
bool is_its_own(job::Launcher launcher, const job::LauncherFailure& failure,
                const diagnose::Output& output, const AttemptRecord& record,
                std::span<const diagnose::Output> all) {
  if (!record.command || !job::may_hide(launcher, *record.command, failure)) return false;
  if (!on_its_stream(launcher, output, all)) return false;
  return failure.last_words || (failure.pid && record.ranks.pids.contains(*failure.pid));
}

bool killed_as_told(const RankExited& ended, const std::set<int>& told) {
  const bool by_it = ended.status == ExitStatus(Signaled{SIGTERM}) ||
                     ended.status == ExitStatus(Signaled{SIGKILL});
  return by_it && told.contains(ended.process.pid);
}

// What the launcher says it has told to end did not fail first. It kills a rank that does not heed
// that half a minute later. An elastic agent ends its ranks for a rescale, and may then fail
// itself, `without_a_name`: none of them failed.
void spare_ranks_told_to_end(job::Launcher launcher, bool without_a_name,
                             diagnose::Evidence& evidence) {
  auto& failure = evidence.failure;
  if (is_stuck(failure.kind) || failure.ended.empty()) return;
  std::set<int> told;
  for (const diagnose::Output& output : evidence.output)
    if (on_its_stream(launcher, output, evidence.output)) told.merge(job::told_to_end(output.text));
  const auto is_spared = [&](const RankExited& ended) { return killed_as_told(ended, told); };
  const bool none_failed = without_a_name && std::ranges::all_of(failure.ended, is_spared);
  const auto spared = std::stable_partition(
      failure.ended.begin(), failure.ended.end(), [&](const RankExited& ended) {
        const bool late = ended.status == ExitStatus(Signaled{SIGKILL});
        return !is_spared(ended) || !(late || none_failed);
      });
  std::move(spared, failure.ended.end(), std::back_inserter(evidence.ended_in_stop));
  failure.ended.erase(spared, failure.ended.end());
  if (none_failed && failure.kind == FailureKind::rank_died) failure.kind = FailureKind::failed;
}

// Adds the launcher's report of its first failure, if nothing else saw that failure.
void take_launcher_words(job::Launcher launcher, const AttemptRecord& record,
                         diagnose::Evidence& evidence) {
  if (!evidence.command) return;
  std::optional<job::LauncherFailure> failure, own;
  for (const diagnose::Output& output : evidence.output)
    for (const auto& read : job::read_launcher_failures(launcher, output.text)) {
      if (!failure) failure = read;
      if (!own && is_its_own(launcher, read, output, record, evidence.output)) own = failure = read;
    }
  spare_ranks_told_to_end(launcher, !failure, evidence);
  const auto failed = failure ? rank_of(launcher, *failure) : std::nullopt;
  if (own) evidence.told = diagnose::ReportedExit{failed, *own->status};
  auto& ended = evidence.failure.ended;
  if (failed && failed_unseen(*failed, ended))
    ended.insert(ended.begin(), {*failed, {}, own ? own->status : std::nullopt});
  evidence.command = job::unhide(launcher, *evidence.command, own);
  evidence.command_hides = job::hides_statuses(launcher) && !own;
}

// Whose timeout ended the job, and where those stood that gave up.
void take_given_up(const AttemptRecord& record, diagnose::Evidence& evidence) {
  const auto who = gave_up(record);
  if (!who) return;
  std::map<Rank, std::string> stood;
  for (const RankRaised& raised : record.ranks.raised)
    if (is_timeout(raised) && !raised.where.empty()) stood[raised.rank] = ", in " + raised.where;
  if (evidence.failure.timed_out) {
    const auto stands = who->rank ? stood.extract(*who->rank) : decltype(stood)::node_type{};
    const std::string place = stands ? stands.mapped() : "";
    evidence.remarks.push_back(
        who->rank
            ? fmt::format("rank {} gave up by a timeout of its own{}", who->rank->value, place)
            : "a watchdog of the job's own gave up, and its ranks were killed");
  }
  std::vector<AlikeRanks> places;
  for (const auto& [rank, where] : stood) add_alike(places, rank, where);
  for (const AlikeRanks& place : places)
    evidence.remarks.push_back(fmt::format("{} gave up{}", rank_list(place.ranks), place.words));
}

// The status of a hung command, or of one that makes room for another profile, tells only how we
// ended it.
bool ended_by_us(const AttemptRecord& record) {
  return record.gave_way || (record.verdict && is_stuck(record.verdict->kind));
}

diagnose::Evidence evidence_of(const AttemptRecord& record, const AttemptContext& context) {
  diagnose::Evidence evidence;
  evidence.nodes = context.nodes;
  if (record.verdict) take_verdict(*record.verdict, record.ranks.answers, evidence);
  evidence.training = training_of(record, context);
  take_hidden(record.ranks, evidence);
  take_locks(record.ranks.answers.locks, evidence);
  take_groups(record.ranks, evidence);
  take_collectives(record.ranks, evidence);
  take_places(record.ranks.answers, evidence);
  evidence.failure.raised = record.ranks.raised;
  evidence.raised_before = record.ranks.raised_before;
  evidence.wait_before = wait_before(record);
  for (const RankExited& exited : record.ranks.exits)
    if (!exited.status || !succeeded(*exited.status) || record.verdict)
      evidence.failure.ended.push_back(exited);
  evidence.ended_in_stop = record.ranks.late_exits;
  take_finished(record.ranks, evidence);
  evidence.command = record.command;
  take_outputs(record, evidence);
  take_stores(record.ranks, evidence);
  take_init_file(record, evidence);
  take_absent(record, context, evidence);
  take_added_arguments(record, context, evidence);
  take_cut_off_build(record, evidence);
  take_troubled_gpus(record, evidence);
  take_nccl(record.ranks.nccl, evidence);
  take_given_up(record, evidence);
  if (!record.standstill.empty() && evidence.failure.kind != FailureKind::stalled)
    evidence.remarks.push_back(std::string(report::record::subject(record.serves)) +
                               " had stood still: " + record.standstill);
  if (!record.ras.empty()) evidence.remarks.push_back("NCCL's RAS: " + record.ras);
  take_launcher_words(context.launcher, record, evidence);
  evidence.signal = record.signal ? record.signal : record.late_signal;
  if (evidence.signal && ended_by_us(record)) {
    evidence.command.reset();
    evidence.ended_in_stop.clear();
  }
  evidence.oom_kills = context.oom_kills;
  evidence.port = context.port;
  evidence.former_pids = context.former_pids;
  evidence.retries_of_profile = context.retries_of_profile;
  evidence.autotuning = context.autotuning;
  return evidence;
}

}  // namespace

bool went_well(const AttemptRecord& record) {
  return !record.verdict && !record.signal && record.command && succeeded(*record.command);
}

diagnose::Evidence make_evidence(const AttemptRecord& record, const AttemptContext& context) {
  return evidence_of(as_a_hang(record).value_or(record), context);
}

}  // namespace safelaunch::run
