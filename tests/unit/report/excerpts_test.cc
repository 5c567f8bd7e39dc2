#include "launcher/report/excerpts.h"

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::report;

namespace {

RecordedFile file(const std::string& name, const std::string& text) {
  return {name, text, text.size(), 0};
}

/// Rank 1 is missing.
AttemptHistory hung_attempt() {
  AttemptHistory attempt;
  attempt.verdict = RecordedVerdict{.at = {}, .text = "", .failure = {}};
  attempt.verdict->failure.missing = {{.rank = Rank{1}}};
  return attempt;
}

}  // namespace

TEST_CASE("stacks that differ in more than their threads' numbers are told apart", "[excerpts]") {
  AttemptHistory attempt;
  attempt.stacks = {file("rank-0", "thread thread 11 (x)\n  a:1\n"),
                    file("rank-1", "thread thread 22 (x)\n  a:1\n"),
                    file("rank-2", "thread thread 11 (x)\n  a:2\n")};
  const auto stacks = shared_stacks(attempt);
  REQUIRE(stacks.size() == 2);
  CHECK(stacks[0].ranks == std::vector{Rank{0}, Rank{1}});
  CHECK(stacks[0].text == attempt.stacks[0].text);
  CHECK_FALSE(stacks[0].suspect);
}

TEST_CASE("a stack that a missing rank shares with others is a suspect's", "[excerpts]") {
  AttemptHistory attempt = hung_attempt();
  attempt.stacks = {file("rank-0", "a"), file("rank-1", "b"), file("rank-2", "b")};
  const auto stacks = shared_stacks(attempt);
  CHECK(stacks.at(0).suspect);
  CHECK(stacks.at(0).ranks == std::vector{Rank{1}, Rank{2}});
}

TEST_CASE("a stack of no rank is passed over", "[excerpts]") {
  AttemptHistory attempt;
  attempt.stacks = {file("launcher", "a"), file("rank-x", "b")};
  CHECK(shared_stacks(attempt).empty());
}

TEST_CASE("the launcher's logs come behind a suspect's and before the others'", "[excerpts]") {
  AttemptHistory attempt = hung_attempt();
  attempt.logs = {file("rank-0.err", "a"), file("launcher.out", "b"), file("nccl.h.1", "c"),
                  file("rank-1.err", "d"), file("rank-10.err", "e")};
  std::vector<std::string> names;
  for (const RecordedFile* log : logs_by_interest(attempt)) names.push_back(log->name);
  CHECK(names == std::vector<std::string>{"rank-1.err", "launcher.out", "rank-0.err", "nccl.h.1",
                                          "rank-10.err"});
}

TEST_CASE("the extent of a file says what was left out", "[excerpts]") {
  CHECK(extent_in_words({"log", "", 999, 0}) == "999 bytes");
  CHECK(extent_in_words({"log", "", 2'300, 0}) == "2 KiB");
  CHECK(extent_in_words({"log", "", 10'000'000, 9'936'000}) == "the last 62 KiB of 10 MiB");
  CHECK(extent_in_words({"log", "", 5'000'000'000'000'000, 0}) == "4656612.9 GiB");
}
