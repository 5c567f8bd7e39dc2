#include "safelaunch/probe/tournament.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::probe;

namespace {

ProbedProfile working(std::string profile, double gb_per_s) {
  return {std::move(profile), Works{300, 2, gb_per_s}, ""};
}

ProbedProfile failing(std::string profile) {
  return {std::move(profile), Failed{{{0, Phase::init, "system error"}}}, "shm-small"};
}

ProbedProfile hanging(std::string profile) {
  return {std::move(profile), Hung{Phase::init, {0, 1}}, ""};
}

ProbedProfile untold(std::string profile) {
  return {std::move(profile), Untold{"no NCCL in it"}, ""};
}

}  // namespace

TEST_CASE("the fastest that works is used") {
  const std::vector probed{failing("basic"), working("no-shm", 5), working("cumem-host", 20)};
  const auto conclusion = conclude(probed, 2);
  CHECK(conclusion.profile == "cumem-host");
  CHECK(conclusion.sentence ==
        "cumem-host works and is the one to use; basic does not work; no-shm is 4.0 times slower");
  CHECK(conclusion.use == "safelaunch --profile cumem-host -- COMMAND");
}

TEST_CASE("of those that are as fast the first is used") {
  CHECK(winner(std::vector{working("basic", 80), working("no-nvls", 100)}) == 0);
  CHECK(winner(std::vector{working("basic", 70), working("no-nvls", 100)}) == 1);
}

TEST_CASE("where none works that is said") {
  const auto conclusion = conclude(std::vector{failing("basic"), failing("no-shm")}, 2);
  CHECK(conclusion.profile.empty());
  CHECK(conclusion.sentence == "none works: basic and no-shm fail");
  CHECK(conclusion.use.empty());
}

TEST_CASE("what was not probed is not said to fail") {
  CHECK(conclude(std::vector{untold("gloo-fallback")}, 2).sentence ==
        "no result: no profile was probed to its end");
  CHECK(conclude(std::vector{working("basic", 1), untold("gloo-fallback")}, 2).sentence ==
        "basic works here");
}

TEST_CASE("one rank cannot tell whether ranks can meet") {
  const std::vector probed{ProbedProfile{"basic", Works{300, 2, std::nullopt}, ""}};
  const auto conclusion = conclude(probed, 1);
  CHECK_THAT(conclusion.sentence, Catch::Matchers::ContainsSubstring("one rank cannot tell"));
  CHECK(conclusion.use.empty());
}

TEST_CASE("a ratio needs two measurements") {
  CHECK(cost_ratio(working("a", 20).verdict, working("b", 5).verdict) == 4.0);
  CHECK_FALSE(cost_ratio(working("a", 20).verdict, failing("b").verdict));
  CHECK_FALSE(cost_ratio(Works{}, working("b", 5).verdict));
  CHECK_FALSE(cost_ratio(working("a", 20).verdict, working("b", 0).verdict));
}

TEST_CASE("the profiles of the chain are probed first, in its order") {
  std::vector<profile::Profile> all(4);
  for (std::size_t i = 0; const char* name : {"basic", "ib", "no-shm", "tcp"}) all[i++].name = name;
  const std::vector<std::string> chain{"no-shm", "basic"};
  std::vector<std::string> order;
  for (const profile::Profile& one : chain_first(all, chain)) order.push_back(one.name);
  CHECK(order == std::vector<std::string>{"no-shm", "basic", "ib", "tcp"});
}

TEST_CASE("a profile whose result is known beforehand is not probed") {
  using profile::Backend;
  const std::vector<Entrant> earlier{{"basic", Backend::keep, {}, {{"NCCL_DEBUG", "INFO"}}},
                                     {"gloo-fallback", Backend::gloo, {}, {}}};
  CHECK(reason_not_to_probe({"gloo", Backend::gloo, {}, {}}, earlier) == "gloo does without NCCL");
  CHECK(reason_not_to_probe({"single", Backend::keep, 1, {}}, earlier) ==
        "one process meets nobody");
  CHECK(reason_not_to_probe({"same", Backend::keep, 2, {{"NCCL_DEBUG", "INFO"}}}, earlier) ==
        "the same variables as basic");
  CHECK(reason_not_to_probe({"other", Backend::keep, 2, {{"NCCL_DEBUG", "WARN"}}}, earlier) == "");
}

TEST_CASE("a profile is probed though one for gloo has the same variables") {
  const std::vector<Entrant> earlier{{"gloo-fallback", profile::Backend::gloo, {}, {}}};
  CHECK(reason_not_to_probe({"basic", profile::Backend::keep, {}, {}}, earlier) == "");
}

TEST_CASE("the status of a tournament is that of its best profile") {
  CHECK(exit_code_for(std::vector{hanging("a"), failing("b"), working("c", 1)}) == 0);
  CHECK(exit_code_for(std::vector{hanging("a"), failing("b"), untold("c")}) == 1);
  CHECK(exit_code_for(std::vector{untold("a"), hanging("b")}) == 124);
  CHECK(exit_code_for(std::vector{untold("a")}) == 69);
  CHECK(exit_code_for({}) == 69);
}

TEST_CASE("only ranks with a GPU each measure the links between GPUs") {
  CHECK_FALSE(measures_links(1, 8));
  CHECK(measures_links(2, 2));
  CHECK(measures_links(8, 8));
  CHECK_FALSE(measures_links(2, 1));
}

TEST_CASE("one profile that fails alone fails, several fail") {
  CHECK(conclude(std::vector{hanging("basic")}, 2).sentence == "none works: basic fails");
  CHECK(conclude(std::vector{hanging("a"), untold("b"), failing("c")}, 2).sentence ==
        "none works: a and c fail");
  CHECK(conclude({}, 2).sentence == "no result: no profile was probed to its end");
}

TEST_CASE("beside the winner those that fail and those that are slower are told, not equals") {
  const auto sentence = [](std::vector<ProbedProfile> probed) {
    return conclude(probed, 2).sentence;
  };
  CHECK(sentence({working("a", 10)}) == "a works here");
  CHECK(sentence({working("a", 10), working("b", 9)}) == "a works and is the one to use");
  CHECK(sentence({working("a", 10), working("b", 8)}) == "a works and is the one to use");
  CHECK(sentence({working("a", 10), working("b", 5), working("c", 2)}) ==
        "a works and is the one to use; b is 2.0 times slower; c is 5.0 times slower");
  CHECK(sentence({working("a", 10), failing("b"), hanging("c")}) ==
        "a works here; b and c do not work");
}

TEST_CASE("where nothing was measured the first that works is used") {
  const ProbedProfile first{"a", Works{1, 1, std::nullopt}, ""};
  const ProbedProfile other{"b", Works{1, 1, std::nullopt}, ""};
  CHECK(winner(std::vector{failing("x"), first, other}) == 1);
  CHECK(winner(std::vector{first, working("b", 1)}) == 1);  // measured beats not measured
  CHECK_FALSE(winner({}));
  CHECK_FALSE(winner(std::vector{failing("a"), untold("b")}));
}

TEST_CASE("one rank that fails is told as any other") {
  CHECK(conclude(std::vector{failing("basic")}, 1).sentence == "none works: basic fails");
}

TEST_CASE("a profile of one process, or over gloo, is known whatever stands before it") {
  using profile::Backend;
  CHECK(reason_not_to_probe({"a", Backend::keep, 1, {}}, {}) == "one process meets nobody");
  CHECK(reason_not_to_probe({"a", Backend::keep, 0, {}}, {}) == "");
  CHECK(reason_not_to_probe({"a", Backend::gloo, 1, {}}, {}) == "gloo does without NCCL");
}

TEST_CASE("a chain that names no profile here leaves the order as it is") {
  std::vector<profile::Profile> all(2);
  all[0].name = "b";
  all[1].name = "a";
  const std::vector<std::string> chain{"x"};
  CHECK(chain_first(all, chain).front().name == "b");
  CHECK(chain_first(all, {}).front().name == "b");
  CHECK(chain_first({}, chain).empty());
}
