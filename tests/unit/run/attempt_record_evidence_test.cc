#include "launcher/run/attempt_record.h"

#include <csignal>

#include "catch.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/diagnosis.h"

using namespace safelaunch;

using namespace safelaunch::run;
using namespace std::chrono_literals;

namespace {

AttemptRecord spawned_by_torch(std::vector<RankExited> exits) {
  AttemptRecord record;
  record.command = Exited{1};
  record.ranks.exits = std::move(exits);
  record.tails = {{{std::nullopt, output::StdStream::err},
                   "torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with "
                   "exit code 3\n"}};
  return record;
}

using State = watch::CollectiveSeen::State;

// Three ranks of one group hang in their first collective, or what each of them takes for it.
AttemptRecord hung_in_collectives(const std::vector<watch::CollectiveSeen>& called) {
  AttemptRecord record;
  Failure verdict{.kind = FailureKind::hung, .stage = Stage::collective};
  for (int i = 0; i < static_cast<int>(called.size()); ++i) {
    const watch::CollectiveSeen& one = called[static_cast<std::size_t>(i)];
    watch::RankCollectives& rank = record.ranks.answers.collectives[Rank{i}];
    rank.told = true;
    rank.members["0"] = {Rank{0}, Rank{1}, Rank{2}};
    if (one.number > 0) rank.last = {one};
    if (one.number > 0 && one.state != State::finished)
      verdict.missing.push_back({.rank = Rank{i}, .inside = true});
  }
  record.verdict = verdict;
  return record;
}

diagnose::Training training(const AttemptRecord& record, job::Launcher launcher,
                            bool ranks_below = true) {
  AttemptContext context;
  context.launcher = launcher;
  context.ranks_below = ranks_below;
  return make_evidence(record, context).training;
}

AttemptContext by_script() {
  AttemptContext context;
  context.launcher = job::Launcher::python;
  return context;
}

}  // namespace

TEST_CASE("a rank that nobody saw before it failed is the first, not those that were ended for it",
          "[evidence]") {
  const auto record =
      spawned_by_torch({{Rank{0}, {}, Signaled{SIGTERM}}, {Rank{1}, {}, Signaled{SIGTERM}}});
  const diagnose::Evidence evidence = make_evidence(record, by_script());
  REQUIRE(evidence.failure.ended.size() == 3);
  CHECK(evidence.failure.ended.front().rank == Rank{2});
  // Its words name a rank, but the command is no launcher that hides statuses.
  CHECK_FALSE(evidence.failure.ended.front().status);
  CHECK(evidence.command == ExitStatus(Exited{1}));
}

TEST_CASE("a rank whose own failure was seen stays the first", "[evidence]") {
  const auto record = spawned_by_torch({{Rank{1}, {}, Exited{7}}});
  CHECK(make_evidence(record, by_script()).failure.ended.front().rank == Rank{1});
}

TEST_CASE("ranks in different collectives are shown to disagree, and none of them is missing",
          "[evidence]") {
  const AttemptRecord record = hung_in_collectives({{"0", 1, "all_reduce", State::enqueued},
                                                    {"0", 1, "broadcast", State::finished},
                                                    {"0", 1, "all_reduce", State::enqueued}});
  const diagnose::Evidence evidence = make_evidence(record, by_script());
  REQUIRE(evidence.confirmations.size() == 1);
  CHECK(evidence.confirmations.front().cause == "ranks-disagree");
  CHECK(evidence.failure.missing.empty());
  CHECK(evidence.failure.waiting == std::vector<Rank>{Rank{0}, Rank{2}});
}

TEST_CASE("of ranks that hang alike none is missing or behind", "[evidence]") {
  const watch::CollectiveSeen same{"0", 1, "all_reduce", State::enqueued};
  const diagnose::Evidence evidence =
      make_evidence(hung_in_collectives({same, same, same}), by_script());
  CHECK(evidence.confirmations.empty());
  CHECK(evidence.failure.missing.size() == 3);
  CHECK(evidence.remarks.empty());
}

TEST_CASE("the places of all ranks are told, but that of a missing one, which is told anyway",
          "[evidence]") {
  AttemptRecord record;
  record.verdict = Failure{.kind = FailureKind::hung, .stage = Stage::collective};
  for (const int rank : {0, 1})
    record.ranks.answers.stacks[Rank{rank}] = {"train.py:9 step → all_reduce", "frames"};
  CHECK(make_evidence(record, by_script()).remarks ==
        std::vector<std::string>{"ranks 0 1 in train.py:9 step → all_reduce"});
  record.verdict->missing.push_back({.rank = Rank{1}});
  CHECK(make_evidence(record, by_script()).remarks ==
        std::vector<std::string>{"rank 0 in train.py:9 step → all_reduce"});
}

TEST_CASE("all ranks are in one collective only if each of them is", "[evidence]") {
  const watch::CollectiveSeen same{"0", 1, "all_reduce", State::enqueued};
  AttemptRecord record = hung_in_collectives({same, same, same});
  record.ranks.world_size = 3;
  CHECK(make_evidence(record, by_script()).all_in_one_collective);
  record.ranks.world_size = 4;  // one of them has no hook
  CHECK_FALSE(make_evidence(record, by_script()).all_in_one_collective);
}

TEST_CASE("a circle of messages is a cause of its own", "[evidence]") {
  AttemptRecord record;
  record.verdict = Failure{.kind = FailureKind::hung, .stage = Stage::collective};
  for (const int rank : {0, 1})
    record.ranks.answers.collectives[Rank{rank}].first =
        watch::FirstCall{.operation = "recv", .group = "0", .peer = Rank{1 - rank}, .blocks = true};
  const diagnose::Evidence evidence = make_evidence(record, by_script());
  REQUIRE(evidence.confirmations.size() == 1);
  CHECK(evidence.confirmations.front().cause == "messages-in-a-circle");
}

TEST_CASE("a group with other members on other ranks is told of a hang and of a failure",
          "[evidence]") {
  AttemptRecord record;
  record.ranks.groups = {{Rank{0}, {{"1", {Rank{0}, Rank{3}}}}},
                         {Rank{1}, {{"1", {Rank{1}, Rank{2}}}}}};
  const auto facts = make_evidence(record, by_script()).confirmations;
  REQUIRE(facts.size() == 1);
  CHECK(facts.front().cause == "ranks-disagree");
}

namespace {

AttemptRecord one_raised_and_waits() {
  AttemptRecord record;
  record.verdict = Failure{.kind = FailureKind::hung, .stage = Stage::collective};
  auto& collectives = record.ranks.answers.collectives;
  for (const int rank : {0, 1}) {
    record.ranks.answers.stacks[Rank{rank}] = {"train.py:27 <module> → barrier", "frames", {}};
    collectives[Rank{rank}].first = watch::FirstCall{
        .operation = rank == 0 ? "all_reduce" : "barrier", .group = "0", .blocks = true};
  }
  record.ranks.answers.stacks[Rank{1}].handled = watch::ExceptionTold{
      {Rank{1}, {}, "KeyError", "'labels'", "Traceback …\nKeyError: 'labels'\n"}};
  record.ranks.answers.stacks[Rank{1}].handled->raised.where = "train.py:18 train";
  return record;
}

}  // namespace

TEST_CASE("a rank that waits before its exception comes out is the culprit", "[evidence]") {
  const diagnose::Evidence evidence = make_evidence(one_raised_and_waits(), by_script());
  CHECK(evidence.confirmations.empty());
  REQUIRE(evidence.hidden.size() == 1);
  const auto found = diagnose::diagnose(evidence, diagnose::Catalogue::builtin());
  CHECK(found.failure.cause == "user-exception");
  CHECK(found.failure.first == Rank{1});
  CHECK(found.failure.explanation.find("Rank 1 raised KeyError: 'labels' in train.py:18 train") !=
        std::string::npos);
  CHECK(found.failure.explanation.find("all_reduce on rank 0") != std::string::npos);
  CHECK(diagnose::exit_status_of(evidence, found) == 124);
}

TEST_CASE("an exception that a rank holds back in training is why the others stand still",
          "[evidence]") {
  AttemptRecord record = one_raised_and_waits();
  record.verdict = Failure{.kind = FailureKind::stalled,
                           .stage = Stage::collective,
                           .waiting = {Rank{0}},
                           .missing = {{.rank = Rank{1}}}};
  record.ranks.answers.collectives.clear();
  const auto found = [&] {
    return diagnose::diagnose(make_evidence(record, by_script()), diagnose::Catalogue::builtin());
  };
  CHECK(found().failure.cause == "user-exception");
  CHECK(found().failure.first == Rank{1});
  record.verdict->missing = {{.rank = Rank{0}}};
  CHECK(found().failure.cause == "training-stalled");  // nobody waits for the one that raised
}

TEST_CASE("an exception that all ranks handle alike keeps none of them away", "[evidence]") {
  AttemptRecord record = one_raised_and_waits();
  record.ranks.answers.stacks[Rank{0}].handled = record.ranks.answers.stacks[Rank{1}].handled;
  const diagnose::Evidence evidence = make_evidence(record, by_script());
  CHECK(evidence.hidden.empty());
  CHECK(evidence.confirmations.size() == 1);
}

TEST_CASE("a lock of the missing ranks blames a holder that waits for them, or nobody",
          "[evidence]") {
  AttemptRecord record;
  record.verdict = Failure{.kind = FailureKind::hung,
                           .stage = Stage::collective,
                           .waiting = {Rank{1}},
                           .missing = {{.rank = Rank{0}, .activity = Activity::idling},
                                       {.rank = Rank{2}, .activity = Activity::idling}}};
  auto& locks = record.ranks.answers.locks;
  const auto cause = [&] {
    return diagnose::diagnose(make_evidence(record, by_script()), diagnose::Catalogue::builtin())
        .failure.cause;
  };
  for (const int rank : {0, 2}) locks[Rank{rank}] = {{"/x.lock", 3min, 71}, Rank{1}};
  CHECK(cause() == "lock-across-collective");
  for (const int rank : {0, 2}) locks[Rank{rank}] = {{"/x.lock", 3min, std::nullopt}, {}};
  CHECK(cause() == "lock-left");
  for (const int rank : {0, 2}) locks[Rank{rank}] = {{"/x.lock", 3min, 99}, {}};
  CHECK(cause() == "rank-missing");
  locks = {{Rank{0}, {{"/x.lock", 3min, 71}, Rank{1}}}};
  CHECK(cause() == "rank-missing");  // nobody knows what rank 2 waits for
}

TEST_CASE("a missing rank's thread that raised, and its child that died, are named", "[evidence]") {
  AttemptRecord record;
  record.verdict = Failure{.kind = FailureKind::hung, .stage = Stage::group};
  record.ranks.threads_raised[Rank{1}] = {
      Rank{1}, {}, "ValueError", "no data", "Traceback …\nValueError: no data\n"};
  record.ranks.threads_raised[Rank{1}].where = "job.py:3 train";
  record.ranks.children_died[Rank{1}] = {71, Signaled{SIGKILL}};
  CHECK(make_evidence(record, by_script()).hidden.empty());  // the rank goes on without them
  record.verdict->missing = {{.rank = Rank{1}, .activity = Activity::idling}};
  record.ranks.answers.stacks[Rank{1}] = {"job.py:9 <module>",
                                          "MainThread\n  /job.py:9 <module>\n"};
  CHECK(make_evidence(record, by_script()).hidden.empty());  // it waits for something else
  record.ranks.answers.stacks[Rank{1}].frames =
      "MainThread\n  /job.py:9 <module>\n  /usr/lib/python3.11/threading.py:607 wait\n";
  const diagnose::Evidence evidence = make_evidence(record, by_script());
  REQUIRE(evidence.hidden.size() == 1);
  CHECK(evidence.remarks.front() ==
        "a thread of rank 1 raised ValueError: no data in job.py:3 train");
  REQUIRE(evidence.confirmations.size() == 1);
  CHECK(evidence.confirmations.front().cause == "child-died");
  diagnose::Evidence without_thread = evidence;
  without_thread.hidden.clear();
  const auto found = diagnose::diagnose(without_thread, diagnose::Catalogue::builtin());
  CHECK(found.failure.cause == "child-died");
}

TEST_CASE("a rank that never called the collective is missing, not those that wait in it",
          "[evidence]") {
  const watch::CollectiveSeen same{"0", 1, "all_reduce", State::enqueued};
  AttemptRecord record = hung_in_collectives({same, {}, same});
  record.ranks.answers.stacks[Rank{1}] = {"train.py:7 evaluate", "frames"};
  const diagnose::Evidence evidence = make_evidence(record, by_script());
  CHECK(evidence.confirmations.empty());
  REQUIRE(evidence.failure.missing.size() == 1);
  CHECK(evidence.failure.missing.front().rank == Rank{1});
  CHECK(evidence.failure.missing.front().where == "train.py:7 evaluate");
  CHECK(evidence.failure.waiting == std::vector<Rank>{Rank{0}, Rank{2}});
  CHECK(evidence.remarks ==
        std::vector<std::string>{"rank 1 never called all_reduce, collective 1 of group 0"});
}

TEST_CASE("a signal after the verdict counts, and what we did to the command does not",
          "[evidence]") {
  AttemptRecord record = hung_in_collectives({{}, {}});
  record.command = Signaled{SIGKILL};
  record.late_signal = SIGINT;

  const diagnose::Evidence hung = make_evidence(record, by_script());
  CHECK(hung.signal == SIGINT);
  CHECK_FALSE(hung.command);

  record.verdict->kind = FailureKind::rank_died;
  record.command = Exited{3};
  const diagnose::Evidence failed = make_evidence(record, by_script());
  CHECK(failed.signal == SIGINT);
  CHECK(failed.command == ExitStatus(Exited{3}));
}

TEST_CASE("a rank has finished that says so or ends with 0, and all have where every one did",
          "[evidence]") {
  AttemptRecord record;
  record.command = Exited{1};
  record.ranks.world_size = 3;
  record.ranks.finished = {Rank{1}};
  record.ranks.exits = {{Rank{0}, {}, Exited{0}}, {Rank{1}, {}, Signaled{SIGABRT}}};
  const diagnose::Evidence two = make_evidence(record, by_script());
  CHECK(two.finished == std::vector<Rank>{{0}, {1}});
  CHECK_FALSE(two.all_finished);
  record.ranks.late_exits = {{Rank{2}, {}, Exited{0}}};
  CHECK(make_evidence(record, by_script()).all_finished);
}

TEST_CASE("a verdict that proves its cause by itself confirms it", "[evidence]") {
  const auto [kind, cause] = GENERATE(table<FailureKind, std::string>({
      {FailureKind::world_size_mismatch, "world-size-mismatch"},
      {FailureKind::duplicate_rank, "duplicate-rank"},
      {FailureKind::different_stores, "different-stores"},
      {FailureKind::stood_still, "start-stuck"},
      {FailureKind::driver_silent, "driver-silent"},
  }));
  AttemptRecord record;
  record.verdict = Failure{.kind = kind};
  record.verdict->proof = "in words";
  const diagnose::Evidence evidence = make_evidence(record, by_script());
  REQUIRE(evidence.confirmations.size() == 1);
  CHECK(evidence.confirmations.front().cause == cause);
  CHECK(evidence.confirmations.front().fact == "in words");
}

TEST_CASE("a hang or a death proves no cause by itself", "[evidence]") {
  const FailureKind kind = GENERATE(FailureKind::hung, FailureKind::stalled, FailureKind::rank_died,
                                    FailureKind::raised, FailureKind::failed);
  AttemptRecord record;
  record.verdict = Failure{.kind = kind};
  CHECK(make_evidence(record, by_script()).confirmations.empty());
}

TEST_CASE("a missing rank is known once it has said where it stands", "[evidence]") {
  AttemptRecord record;
  record.verdict = Failure{.kind = FailureKind::hung, .stage = Stage::group};
  record.verdict->missing = {{.rank = Rank{1}, .known = false}, {.rank = Rank{2}, .known = false}};
  record.ranks.answers.stacks[Rank{1}] = {"train.py:7 evaluate", "the frames"};
  record.ranks.answers.stacks[Rank{2}] = {"", "frames of torch alone"};
  const auto missing = make_evidence(record, by_script()).failure.missing;
  REQUIRE(missing.size() == 2);
  CHECK(missing[0].known);
  CHECK(missing[0].stack == "the frames");
  CHECK_FALSE(missing[1].known);
}

TEST_CASE("each stream of a job is evidence under its own name, unless it is empty", "[evidence]") {
  AttemptRecord record;
  record.command = Exited{1};
  record.tails = {{{Rank{3}, output::StdStream::err}, "a"},
                  {{Rank{3}, output::StdStream::out}, ""},
                  {{std::nullopt, output::StdStream::out}, "b"}};
  std::vector<std::string> sources;
  for (const auto& one : make_evidence(record, by_script()).output) sources.push_back(one.source);
  CHECK(sources == std::vector<std::string>{"rank-3.err", "launcher.out"});
}

TEST_CASE("ranks that run different versions of NCCL are a confirmed cause", "[evidence]") {
  AttemptRecord record;
  record.command = Exited{1};
  record.ranks.nccl.versions = {{2, 27, 3}};
  CHECK(make_evidence(record, by_script()).confirmations.empty());
  record.ranks.nccl.versions.insert({2, 28, 9});
  const diagnose::Evidence evidence = make_evidence(record, by_script());
  REQUIRE(evidence.confirmations.size() == 1);
  CHECK(evidence.confirmations.front().cause == "nccl-mismatch");
  CHECK(evidence.confirmations.front().fact ==
        "The ranks run different versions of NCCL: 2.27.3 2.28.9");
}

TEST_CASE("what the profile added is told where the script refuses its arguments",
          "[evidence][bug]") {
  AttemptRecord record;
  record.command = Exited{2};
  AttemptContext context = by_script();
  CHECK(make_evidence(record, context).remarks.empty());
  context.added_arguments = {"--resume", "a b"};
  CHECK(make_evidence(record, context).remarks ==
        std::vector<std::string>{"The profile had added --resume 'a b' to the script's arguments"});
  record.command = Exited{1};
  CHECK(make_evidence(record, context).remarks.empty());
  record.verdict = Failure{.kind = FailureKind::rank_died};
  record.ranks.exits = {{Rank{1}, {}, Exited{2}}};
  CHECK(make_evidence(record, context).remarks.size() == 1);
}

TEST_CASE("who came to NCCL counts only in a failure that came so far", "[evidence]") {
  AttemptRecord record;
  record.ranks.nccl.in_old_bootstrap = 1;
  record.verdict = Failure{.kind = FailureKind::hung, .stage = Stage::group};
  CHECK(make_evidence(record, by_script()).remarks.empty());
  record.verdict->stage = Stage::communicator;
  CHECK(make_evidence(record, by_script()).remarks ==
        std::vector<std::string>{"1 process waits in NCCL's bootstrap"});
}

TEST_CASE("the trouble that RAS reported is a remark", "[evidence]") {
  AttemptRecord record;
  record.ras = "rank 1 is missing";
  CHECK(make_evidence(record, by_script()).remarks ==
        std::vector<std::string>{"NCCL's RAS: rank 1 is missing"});
}

TEST_CASE("ranks that ended with 0 are told beside a verdict alone", "[evidence]") {
  AttemptRecord record;
  record.command = Exited{1};
  record.ranks.exits = {{Rank{0}, {}, Exited{0}}, {Rank{1}, {}, Exited{2}}};
  CHECK(make_evidence(record, by_script()).failure.ended.size() == 1);
  record.verdict = Failure{.kind = FailureKind::rank_died};
  CHECK(make_evidence(record, by_script()).failure.ended.size() == 2);
}

TEST_CASE("how a command ended that made room says how safelaunch ended it", "[evidence]") {
  AttemptRecord record;
  record.gave_way = true;
  record.signal = SIGTERM;
  record.command = Signaled{SIGTERM};
  record.ranks.late_exits = {{Rank{0}, {}, Signaled{SIGTERM}}};
  const diagnose::Evidence evidence = make_evidence(record, by_script());
  CHECK_FALSE(evidence.command);
  CHECK(evidence.ended_in_stop.empty());
  CHECK(evidence.signal == SIGTERM);
}

TEST_CASE("an attempt went well whose command ended with 0, and nothing spoke against it",
          "[evidence]") {
  AttemptRecord record;
  CHECK_FALSE(went_well(record));  // it was never started
  record.command = Exited{0};
  CHECK(went_well(record));
  AttemptRecord lost = record;
  lost.verdict = Failure{};
  CHECK_FALSE(went_well(lost));
  AttemptRecord stopped = record;
  stopped.signal = SIGINT;
  CHECK_FALSE(went_well(stopped));
  record.late_signal = SIGINT;  // after its end
  CHECK(went_well(record));
  record.command = Signaled{SIGSEGV};
  CHECK_FALSE(went_well(record));
}

TEST_CASE("whether a job trained is known only where a rank was seen to begin", "[evidence]") {
  using diagnose::Training;
  using job::Launcher;
  AttemptRecord nobody;
  nobody.command = Exited{1};
  CHECK(training(nobody, Launcher::opaque) == Training::unseen);
  CHECK(training(nobody, Launcher::python) == Training::unseen);
  CHECK(training(nobody, Launcher::torchrun) == Training::not_begun);  // it failed before its ranks
  CHECK(training(nobody, Launcher::deepspeed, false) == Training::unseen);  // they are elsewhere
  AttemptRecord without_torch = nobody;
  without_torch.ranks.world_size = 2;
  CHECK(training(without_torch, Launcher::torchrun) == Training::unseen);
  AttemptRecord begun = nobody;
  begun.ranks.began = true;
  CHECK(training(begun, Launcher::opaque) == Training::not_begun);
  AttemptRecord spoke = nobody;
  spoke.ranks.nccl.any = true;
  CHECK(training(spoke, Launcher::opaque) == Training::not_begun);
  AttemptRecord hung = nobody;
  hung.verdict = Failure{.kind = FailureKind::hung, .stage = Stage::group};
  CHECK(training(hung, Launcher::opaque) == Training::not_begun);
  begun.training = true;
  CHECK(training(begun, Launcher::opaque) == Training::begun);
}
