#include <csignal>

#include "catch.h"
#include "launcher/run/attempt_record.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/diagnosis.h"

// How the record of an attempt shows that its ranks cannot meet: at what they were to do so.
using namespace safelaunch;

using namespace safelaunch::run;
using namespace std::chrono_literals;

namespace {

RankRaised gloo_raised(int rank) {
  return {Rank{rank},
          {},
          "RuntimeError",
          "[../gloo/transport/tcp/pair.cc:144] Gloo connectFullMesh failed: Connection refused",
          "Traceback …\n",
          true};
}

AttemptContext started_by(int nodes) {
  AttemptContext context;
  context.launcher = job::Launcher::python;
  context.nodes = nodes;
  return context;
}

// Rank 1 knocks at a store, and is not of those that wait for it.
AttemptRecord knocks_at(const std::string& store) {
  AttemptRecord record;
  record.verdict = Failure{.kind = FailureKind::hung,
                           .stage = Stage::rendezvous,
                           .waiting = {Rank{0}},
                           .missing = {{.rank = Rank{1}, .inside = true}}};
  record.ranks.stores = {{Rank{0}, "localhost:29500"}, {Rank{1}, store}};
  record.ranks.knocking = {{Rank{1}, store}};
  record.ranks.stores_here.elsewhere = {store};
  return record;
}

std::string cause_of(const AttemptRecord& record, int nodes) {
  return diagnose::diagnose(make_evidence(record, started_by(nodes)),
                            diagnose::Catalogue::builtin())
      .failure.cause;
}

}  // namespace

TEST_CASE("of a hang it is told where the ranks were given different stores", "[evidence]") {
  AttemptRecord record;
  record.verdict = Failure{.kind = FailureKind::hung, .stage = Stage::rendezvous};
  record.ranks.stores = {{Rank{0}, "10.0.0.1:29500"}, {Rank{1}, "10.0.0.1:29521"}};
  CHECK(make_evidence(record, started_by(1)).remarks.empty());  // rank 1 may have another world
  record.ranks.knocking = {{Rank{1}, "10.0.0.1:29521"}};
  CHECK(make_evidence(record, started_by(1)).remarks ==
        std::vector<std::string>{"the ranks were given different stores: rank 0 10.0.0.1:29500, "
                                 "rank 1 10.0.0.1:29521"});
  record.ranks.stores[Rank{1}] = "10.0.0.1:29500";
  CHECK(make_evidence(record, started_by(1)).remarks.empty());
}

TEST_CASE("a file of an earlier run in which the ranks meet explains a hang and a failure",
          "[evidence]") {
  AttemptRecord record;
  record.ranks.init_file = {"/tmp/x/init", 120, 20min};
  record.began = TimePoint(1h);
  record.ranks.init_file_written = TimePoint(40min);
  const bool hangs = GENERATE(true, false);
  if (hangs) record.verdict = Failure{.kind = FailureKind::hung, .stage = Stage::group};
  if (!hangs) record.command = Exited{1};
  if (!hangs) record.ranks.raised = {gloo_raised(0)};
  const auto found =
      diagnose::diagnose(make_evidence(record, started_by(1)), diagnose::Catalogue::builtin());
  CHECK(found.failure.cause == "stale-init-file");
  CHECK(found.failure.explanation.find("/tmp/x/init, which was 20min old") != std::string::npos);
  record.ranks.init_file_written = record.began + 1s;  // by another rank of this job
  CHECK(make_evidence(record, started_by(1)).confirmations.empty());
  record.ranks.init_file_written = TimePoint(40min);
  record.ranks.init_file->bytes = 0;
  CHECK(make_evidence(record, started_by(1)).confirmations.empty());
}

TEST_CASE("a world larger than what was started is told apart from a rank that stays away",
          "[evidence]") {
  AttemptRecord record;
  record.ranks.world_size = 2;
  record.verdict = Failure{
      .kind = FailureKind::hung,
      .stage = Stage::rendezvous,
      .waiting = {Rank{0}},
      .missing = {
          {.rank = Rank{1}, .activity = Activity::idling, .doing = "never seen", .known = false}}};
  const auto cause = [&](const AttemptContext& context) {
    return diagnose::diagnose(make_evidence(record, context), diagnose::Catalogue::builtin())
        .failure.cause;
  };
  CHECK(cause(started_by(1)) == "rank-not-started");
  record.ranks.raised_nameless = {{Rank{}, {}, "RuntimeError", "bad shard", ""}};
  CHECK(cause(started_by(1)) == "user-exception");
  AttemptContext nodes = started_by(1);
  nodes.nodes = 2;  // it may run on the other one
  CHECK(cause(nodes) == "rank-missing");
  record.ranks.answers.nameless = "pid 71 (python a.py 1) has not said which rank it is";
  CHECK(cause(started_by(1)) == "rank-missing");
  record.ranks.answers.nameless.clear();
  record.verdict->missing.front().activity = Activity::working;  // a process that may become it
  CHECK(cause(started_by(1)) != "rank-not-started");
  record.verdict->missing.front() = {.rank = Rank{1}, .activity = Activity::idling};
  CHECK(cause(started_by(1)) == "rank-missing");
}

TEST_CASE(
    "a rank that knocks at another host, while the others meet on this one, is at a different "
    "store",
    "[evidence][bug]") {
  AttemptRecord record = knocks_at("10.255.1.2:29500");
  CHECK(cause_of(record, 1) == "different-stores");
  CHECK(cause_of(record, 2) == "different-stores");
  CHECK(make_evidence(record, started_by(1)).remarks.empty());  // it is told once
  SECTION("but not while it is stopped") {
    record.verdict->missing[0].activity = Activity::stopped;
    CHECK(cause_of(record, 1) == "rank-stopped");
  }
  SECTION("but not by an address of this host") {
    record.ranks.stores_here.elsewhere.clear();
    CHECK(cause_of(record, 1) == "rank-missing");
  }
  SECTION("but not where the others' store is elsewhere, too") {
    record.ranks.stores[Rank{0}] = "head:29500";
    record.ranks.stores_here.elsewhere.insert("head:29500");
    CHECK(cause_of(record, 1) == "rank-missing");
  }
  SECTION("but not where it is through") {
    record.ranks.knocking = {{Rank{0}, "localhost:29500"}};
    CHECK(cause_of(record, 1) == "rank-missing");
  }
}

TEST_CASE("a name that is not this host's may be an alias of it, behind a firewall",
          "[evidence][bug]") {
  const AttemptRecord record = knocks_at("head:29500");
  CHECK(cause_of(record, 1) == "different-stores");
  CHECK(cause_of(record, 2) == "rank-missing");
}
