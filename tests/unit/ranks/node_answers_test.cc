#include "safelaunch/ranks/node_answers.h"

#include "catch.h"
#include "safelaunch/base/json_fields.h"

using namespace safelaunch;
using namespace safelaunch::ranks;

namespace {

RankAnswers read_back(const RankAnswers& answers) {
  const auto read = answers_from(to_text(answers, kNoLimit));
  REQUIRE(read.has_value());
  return *read;
}

}  // namespace

TEST_CASE("the places at which ranks stand travel to the leader", "[node_answers]") {
  RankAnswers answers;
  answers.stacks[Rank{5}] = {"train.py:40 load_data", "load_data (train.py:40)\nmain\n"};
  answers.silent[Rank{6}] = Activity::stopped;
  const RankAnswers read = read_back(answers);
  CHECK(read.stacks.at(Rank{5}).where == "train.py:40 load_data");
  CHECK(read.stacks.at(Rank{5}).frames == answers.stacks[Rank{5}].frames);
  CHECK(read.silent == answers.silent);
  CHECK(read.stacks.size() == 1);
  CHECK_FALSE(answers_from("{").has_value());
}

TEST_CASE("the collectives that ranks of another node have called are compared with ours",
          "[node_answers]") {
  using State = watch::CollectiveSeen::State;
  RankAnswers there;
  watch::RankCollectives& calls = there.collectives[Rank{9}];
  calls.told = true;
  calls.groups["0"] = {7, -1, 6};
  calls.last = {{"0", 6, "all_reduce", State::finished}, {"0", 7, "all_gather", State::enqueued}};
  calls.members["0"] = {Rank{0}, Rank{1}, Rank{2}, Rank{9}};
  calls.waits = {"TCPStore__wait"};
  calls.first = {.operation = "recv", .group = "0", .members = {Rank{0}, Rank{9}}, .peer = Rank{0}};
  calls.first->tag = 3;
  calls.first->blocks = true;
  RankAnswers answers = read_back(there);
  const watch::RankCollectives& read = answers.collectives.at(Rank{9});
  CHECK(read.told);
  CHECK(read.groups.at("0").enqueued == 7);
  CHECK(read.groups.at("0").started == -1);
  CHECK(read.members == calls.members);
  CHECK(read.waits == calls.waits);
  CHECK(read.first == calls.first);

  watch::RankCollectives& here = answers.collectives[Rank{0}];
  here.told = true;
  here.last = {{"0", 7, "all_reduce", State::enqueued}};
  CHECK(watch::compare(answers.collectives).contradiction ==
        "collective 7 of group 0 is all_gather on rank 9, but all_reduce on rank 0");
}

TEST_CASE("collectives for which a node's standing has no room are left out", "[node_answers]") {
  RankAnswers answers;
  answers.stacks[Rank{5}] = {"train.py:40 load_data", "load_data\n"};
  answers.collectives[Rank{5}].waits.assign(100, "TCPStore__wait");
  const std::string text = to_text(answers, 200);
  CHECK(text.size() <= 200);
  CHECK(answers_from(text)->stacks.contains(Rank{5}));
}

TEST_CASE("hostile collectives are read as far as they are some", "[node_answers]") {
  const auto read = answers_from(
      R"([{"rank":1,"collectives":{"last":[7,["0",1,"x"],["0","1","x","started"],["0",1,"x","?"],
      ["0",1,"x","started"]],"members":{"0":[7,[1],[0,99999999],[3,2]]},"groups":{"0":[1]}}}])");
  REQUIRE(read.has_value());
  const watch::RankCollectives& calls = read->collectives.at(Rank{1});
  CHECK(calls.last.size() == 1);
  CHECK(calls.members.at("0").size() == 65'536);
  CHECK(calls.groups.at("0").enqueued == 0);
  CHECK_FALSE(read->stacks.contains(Rank{1}));
}

TEST_CASE("the answers of ranks are bounded, and what is no answer is left out", "[node_answers]") {
  std::string many;
  for (int i = 0; i < 4'097; ++i)
    many += std::string(i > 0 ? "," : "") + R"({"rank":)" + std::to_string(i) + "}";
  CHECK_FALSE(answers_from("[" + many + "]").has_value());
  for (const char* text : {"", "{}", "7", "null"}) CHECK_FALSE(answers_from(text).has_value());
  const auto read = answers_from(R"([7,{"where":"x"},{"rank":-1},{"rank":3,"where":5}])");
  REQUIRE(read.has_value());
  CHECK(read->stacks.size() == 1);
  CHECK(read->stacks.at(Rank{3}).where.empty());
  RankAnswers endless;
  endless.stacks[Rank{0}] = {"a", std::string(100'000, 'f')};
  CHECK(answers_from(to_text(endless, kNoLimit))->stacks.at(Rank{0}).frames.size() == 8'192);
}
