#include "launcher/run/attempt_record.h"

#include <csignal>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::run;

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
  CHECK(evidence.failure.ended.front().status == ExitStatus(Exited{3}));
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

TEST_CASE("of a hang it is told where the ranks were given different stores", "[evidence]") {
  AttemptRecord record;
  record.verdict = Failure{.kind = FailureKind::hung, .stage = Stage::rendezvous};
  record.ranks.stores = {{Rank{0}, "10.0.0.1:29500"}, {Rank{1}, "10.0.0.1:29521"}};
  CHECK(make_evidence(record, by_script()).remarks.empty());  // rank 1 may have another world
  record.ranks.knocking = {{Rank{1}, "10.0.0.1:29521"}};
  CHECK(make_evidence(record, by_script()).remarks ==
        std::vector<std::string>{"The ranks were given different stores: rank 0 10.0.0.1:29500, "
                                 "rank 1 10.0.0.1:29521"});
  record.ranks.stores[Rank{1}] = "10.0.0.1:29500";
  CHECK(make_evidence(record, by_script()).remarks.empty());
}
