#include "safelaunch/plan/next_step.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::plan;

namespace {

MissingRank at(int rank, const std::string& file, const std::string& where) {
  return {.rank = Rank{rank},
          .activity = Activity::idling,
          .where = where,
          .stack = "thread MainThread (innermost last)\n  /home/me/train.py:9 <module>\n  " + file +
                   "\nthread other (innermost last)\n  /x/torch/y.py:1 z\n"};
}

MissingRank in_own_code() {
  return at(1, "/home/me/train.py:50 never", "train.py:50 never");
}

std::optional<Impasse> of(std::vector<MissingRank> missing,
                          FailureKind outcome = FailureKind::hung) {
  diagnose::Evidence evidence;
  evidence.failure.kind = outcome;
  evidence.failure.stage = Stage::group;
  evidence.failure.missing = std::move(missing);
  diagnose::Diagnosis diagnosis;
  diagnosis.failure.cause = "rank-missing";
  return impasse_of(evidence, diagnosis);
}

}  // namespace

TEST_CASE("a rank in the script's own code stands where no profile reaches", "[impasse]") {
  const auto found = of({in_own_code()});
  REQUIRE(found);
  CHECK(found->places == std::map<Rank, std::string>{{Rank{1}, "train.py:50 never"}});
  CHECK(describe_again(*found) == "rank 1 stands in train.py:50 never again");
  CHECK(*found != of({at(1, "/home/me/train.py:51 never", "train.py:51 never")}));
  CHECK(*found != of({in_own_code(), at(2, "/home/me/train.py:50 never", "train.py:50 never")}));
}

TEST_CASE("what a profile may change, or nobody has seen, is no impasse", "[impasse]") {
  const std::string torch = "/py/site-packages/torch/distributed/distributed_c10d.py:7 new_group";
  CHECK_FALSE(of({at(1, torch, "train.py:9 <module> → new_group")}));
  CHECK_FALSE(of({in_own_code(), MissingRank{.rank = Rank{2}}}));
  CHECK_FALSE(of({}));
  CHECK_FALSE(of({in_own_code()}, FailureKind::rank_died));
  MissingRank inside = in_own_code();
  inside.inside = true;
  CHECK_FALSE(of({inside}));
}

TEST_CASE("a rank that somebody stops stands wherever it was", "[impasse]") {
  const auto found = of({{.rank = Rank{1}, .activity = Activity::stopped, .inside = true}});
  REQUIRE(found);
  CHECK(describe_again(*found) == "rank 1 is stopped again");
  CHECK(found->stage == Stage::spawned);  // the signal may find it a stage further on next time
}

TEST_CASE("several ranks that stand are told by the first, and the others counted", "[impasse]") {
  const auto told = [](std::map<Rank, std::string> places) {
    return describe_again({"rank-missing", Stage::group, std::move(places)});
  };
  CHECK(told({{Rank{3}, "a.py:1 f"}}) == "rank 3 stands in a.py:1 f again");
  CHECK(told({{Rank{3}, "a.py:1 f"}, {Rank{1}, "b.py:2 g"}}) ==
        "rank 1 stands in b.py:2 g again, 1 other likewise");
  CHECK(told({{Rank{0}, "stopped"}, {Rank{1}, "x"}, {Rank{2}, "y"}}) ==
        "rank 0 is stopped again, 2 others likewise");
}

TEST_CASE("a frame in a library that communicates is no impasse, one beside it is", "[impasse]") {
  struct Row {
    const char* frame;
    bool stands;
  };
  const Row rows[] = {
      {"/py/torch/nn/x.py:1 f", false}, {"/py/jax/x.py:1 f", false},
      {"/py/jaxlib/x.py:1 f", false},   {"/py/nccl/x.py:1 f", false},
      {"/py/cupyx/x.py:1 f", false},    {"/home/torchtrain/x.py:1 f", true},
      {"/home/my_jax/x.py:1 f", true},  {"/py/json/decoder.py:1 f", true},
      {"train.py:50 never", true},
  };
  for (const Row& row : rows) {
    INFO(row.frame);
    CHECK(of({at(1, row.frame, "there")}).has_value() == row.stands);
  }
}

TEST_CASE("without frames of the main thread nobody knows where a rank stands", "[impasse]") {
  for (const char* stack : {"", "thread MainThread", "thread MainThread\n",
                            "thread MainThread\nthread other\n  /home/x.py:1 f\n"}) {
    MissingRank missing = in_own_code();
    missing.stack = stack;
    INFO(stack);
    CHECK_FALSE(of({missing}));
  }
  MissingRank nowhere = in_own_code();
  nowhere.where.clear();
  CHECK_FALSE(of({nowhere}));
}

TEST_CASE("an impasse of another stage, cause or kind of hang is another", "[impasse]") {
  diagnose::Evidence evidence;
  evidence.failure.kind = FailureKind::hung;
  evidence.failure.missing = {in_own_code()};
  diagnose::Diagnosis diagnosis;
  diagnosis.failure.cause = "a";
  const auto first = impasse_of(evidence, diagnosis);
  REQUIRE(first);
  CHECK(first->stage == Stage::spawned);  // nobody came further
  evidence.failure.stage = Stage::group;
  CHECK(impasse_of(evidence, diagnosis) != first);
  evidence.failure.stage.reset();
  diagnosis.failure.cause = "b";
  CHECK(impasse_of(evidence, diagnosis) != first);
}
