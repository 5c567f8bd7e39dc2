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
}
