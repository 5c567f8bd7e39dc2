// A job that its own timeout has ended.
#include <csignal>

#include "catch.h"
#include "launcher/run/attempt_record.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/diagnosis.h"

using namespace safelaunch;

using namespace safelaunch::run;

namespace {

// Rank 0 has given up, by an exception; rank 1 was told to end for it.
AttemptRecord gave_up_waiting_for(MissingRank missing) {
  AttemptRecord record;
  record.command = Exited{1};
  record.ranks.raised = {{Rank{0},
                          {},
                          "RuntimeError",
                          "Timed out waiting 8000ms for recv operation to complete",
                          "Traceback …\n",
                          true}};
  record.ranks.exits = {{Rank{1}, {}, Signaled{SIGTERM}}, {Rank{0}, {}, Exited{1}}};
  record.ranks.answers.stacks[missing.rank].where = "train.py:12 load";
  record.ranks.answers.stacks[Rank{0}].where = "train.py:20 step";
  record.timed_out = Failure{.kind = FailureKind::hung,
                             .stage = Stage::collective,
                             .waiting = {Rank{0}},
                             .missing = {std::move(missing)},
                             .waited = Duration(8'000)};
  return record;
}

std::map<std::string, watch::GroupCounters> counted(std::int64_t begun, std::int64_t finished) {
  return {{"0", {begun, begun, finished}}};
}

AttemptContext of_a_script() {
  AttemptContext context;
  context.launcher = job::Launcher::python;
  return context;
}

}  // namespace

TEST_CASE("a rank whose own timeout ends the job tells of the one it waited for", "[evidence]") {
  const AttemptRecord record = gave_up_waiting_for({.rank = Rank{1}});
  const diagnose::Evidence evidence = make_evidence(record, of_a_script());
  CHECK(evidence.failure.kind == FailureKind::hung);
  CHECK(evidence.failure.timed_out);
  REQUIRE(evidence.failure.missing.size() == 1);
  CHECK(evidence.failure.missing.front().where == "train.py:12 load");
  // Rank 0 stands nowhere any more.
  CHECK(evidence.remarks == std::vector<std::string>{"rank 0 gave up by a timeout of its own"});
  const auto diagnosis = diagnose::diagnose(evidence, diagnose::Catalogue::builtin());
  CHECK(diagnosis.failure.cause == "rank-missing");
  CHECK(diagnose::exit_status_of(evidence, diagnosis) == 1);
}

TEST_CASE("a server whose watchdog gives up kills all its ranks, also the one that lacked",
          "[evidence]") {
  AttemptRecord record = gave_up_waiting_for({.rank = Rank{1}});
  record.ranks.raised.clear();
  record.serves = true;
  record.command = Signaled{SIGKILL};
  record.ranks.exits = {{Rank{1}, {}, Signaled{SIGKILL}}, {Rank{0}, {}, Signaled{SIGKILL}}};
  const diagnose::Evidence evidence = make_evidence(record, of_a_script());
  CHECK(evidence.failure.kind == FailureKind::hung);
  REQUIRE_FALSE(evidence.remarks.empty());
  CHECK(evidence.remarks.back() ==
        "a watchdog of the job's own gave up, and its ranks were killed");
  record.serves = false;  // then it was the kernel, or a scheduler
  CHECK(make_evidence(record, of_a_script()).failure.kind != FailureKind::hung);
  record.serves = true;
  record.ranks.exits.back().status = Exited{3};  // then something else has happened
  CHECK(make_evidence(record, of_a_script()).failure.kind != FailureKind::hung);
}

TEST_CASE("the exception is told that the rank holds back for which another gave up waiting",
          "[evidence]") {
  AttemptRecord record = gave_up_waiting_for({.rank = Rank{1}});
  watch::ExceptionTold& told = record.ranks.answers.stacks[Rank{1}].handled.emplace();
  told.raised.type = "KeyError";
  told.leaves = true;
  const diagnose::Evidence evidence = make_evidence(record, of_a_script());
  const auto diagnosis = diagnose::diagnose(evidence, diagnose::Catalogue::builtin());
  CHECK(diagnose::exit_status_of(evidence, diagnosis) == 1);
  REQUIRE(evidence.hidden.size() == 1);
  CHECK(evidence.hidden.front().type == "KeyError");
}

TEST_CASE("a timeout is no reason where another rank had failed, all had come, or a person stops",
          "[evidence]") {
  AttemptRecord record = gave_up_waiting_for({.rank = Rank{1}});
  SECTION("another died") {
    record.ranks.exits.insert(record.ranks.exits.begin(), {Rank{2}, {}, Signaled{SIGKILL}});
  }
  SECTION("another raised") {
    record.ranks.raised.insert(record.ranks.raised.begin(),
                               {Rank{2}, {}, "ValueError", "mine", "Traceback …\n", false});
  }
  SECTION("all had come") {
    record.timed_out->missing.front().inside = true;
  }
  SECTION("nobody was missing") {
    record.timed_out->missing.clear();
  }
  SECTION("stopped") {
    record.signal = SIGINT;
  }
  SECTION("it was caught") {
    record.ranks.raised.front().traceback.clear();
  }
  SECTION("it is long ago") {
    record.failed_at = record.timed_out_at + std::chrono::hours(1);
  }
  SECTION("who gave up was the one that others waited for") {
    record.timed_out->missing.front().rank = Rank{0};
  }
  SECTION("it came at once") {
    record.timed_out->waited = Duration(20);
  }
  SECTION("it went well") {
    record.command = Exited{0};
  }
  CHECK_FALSE(make_evidence(record, of_a_script()).failure.timed_out);
}

namespace {

// In training torch's watchdog has ended rank 0, which had called collective 21.
AttemptRecord ended_by_the_watchdog() {
  AttemptRecord record;
  record.command = Signaled{SIGABRT};
  record.training = true;
  record.timed_out = Failure{.kind = FailureKind::stalled, .stage = Stage::collective};
  record.ranks.exits = {{Rank{0}, {}, Signaled{SIGABRT}}};
  record.ranks.answers.collectives[Rank{0}].groups = counted(21, 20);
  record.ranks.answers.collectives[Rank{1}].groups = counted(20, 20);
  return record;
}

// The flight recorder of a rank tells that it stands in collective 21, or in none.
void records(AttemptRecord& record, Rank rank, bool stands) {
  watch::RankCollectives& seen = record.ranks.answers.collectives[rank];
  seen.told = true;
  seen.members["0"] = {Rank{0}, Rank{1}};
  if (stands) seen.last = {{"0", 21, "all_reduce", watch::CollectiveSeen::State::enqueued}};
}

}  // namespace

TEST_CASE("in training the recorders tell for whom a rank waited that torch's watchdog ended",
          "[evidence]") {
  AttemptRecord record = ended_by_the_watchdog();
  records(record, Rank{0}, true);
  records(record, Rank{1}, false);
  SECTION("also where its main thread saw its communicator aborted before it ended") {
    record.ranks.raised = {{Rank{0},
                            {},
                            "torch.distributed.DistBackendError",
                            "NCCL communicator was aborted on rank 0.",
                            "Traceback …\n",
                            true}};
  }
  SECTION("that raised nothing") {}
  const diagnose::Evidence evidence = make_evidence(record, of_a_script());
  CHECK(evidence.failure.kind == FailureKind::stalled);
  CHECK(evidence.failure.waiting == std::vector{Rank{0}});
  CHECK(ranks_of(evidence.failure.missing) == std::vector{Rank{1}});
  const auto diagnosis = diagnose::diagnose(evidence, diagnose::Catalogue::builtin());
  CHECK(diagnosis.failure.cause == "training-stalled");
  CHECK(diagnose::exit_status_of(evidence, diagnosis) == 128 + SIGABRT);
}

TEST_CASE("where no recorder shows who waits the counters tell who is behind", "[evidence]") {
  AttemptRecord record = ended_by_the_watchdog();
  const auto behind = [&] {
    return ranks_of(make_evidence(record, of_a_script()).failure.missing);
  };
  CHECK(behind() == std::vector{Rank{1}});
  // Where another has given up too, gloo counts its collective as finished.
  record.ranks.answers.collectives[Rank{2}].groups = counted(21, 21);
  CHECK(behind() == std::vector{Rank{1}});
}

TEST_CASE("a rank that has called what another waits in has come, though that one ran ahead",
          "[evidence]") {
  AttemptRecord record = ended_by_the_watchdog();
  record.ranks.answers.collectives[Rank{0}].groups = counted(30, 20);
  record.ranks.answers.collectives[Rank{1}].groups = counted(28, 20);
  for (const int rank : {0, 1}) records(record, Rank{rank}, true);
  CHECK_FALSE(make_evidence(record, of_a_script()).failure.timed_out);
}

TEST_CASE("ranks that gave up in different operations, for which nobody was missing, disagree",
          "[evidence]") {
  AttemptRecord record = ended_by_the_watchdog();
  for (const int rank : {0, 1}) records(record, Rank{rank}, true);
  record.ranks.answers.collectives[Rank{1}].last.front().operation = "broadcast";
  const diagnose::Evidence evidence = make_evidence(record, of_a_script());
  CHECK(evidence.failure.timed_out);
  CHECK(evidence.failure.missing.empty());
  const auto diagnosis = diagnose::diagnose(evidence, diagnose::Catalogue::builtin());
  CHECK(diagnosis.failure.cause == "ranks-disagree");
}

TEST_CASE("the places are told at which ranks gave up", "[evidence]") {
  AttemptRecord record = gave_up_waiting_for({.rank = Rank{1}});
  record.ranks.raised.front().where = "train.py:20 step → recv";
  SECTION("with whose timeout it was") {
    CHECK(make_evidence(record, of_a_script()).remarks ==
          std::vector<std::string>{
              "rank 0 gave up by a timeout of its own, in train.py:20 step → recv"});
  }
  SECTION("where it was for nobody that is known") {
    record.timed_out.reset();
    record.ranks.raised.push_back(record.ranks.raised.front());
    record.ranks.raised.back().rank = Rank{1};
    CHECK(make_evidence(record, of_a_script()).remarks ==
          std::vector<std::string>{"ranks 0 1 gave up, in train.py:20 step → recv"});
  }
}
