#include "safelaunch/nodes/node_evidence.h"

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::nodes;

namespace {

const ranks::NodeName kOther{2, "gpu-17"};

diagnose::Evidence heard(const std::string& text) {
  diagnose::Evidence evidence;
  REQUIRE(add_evidence(text, kOther, evidence).has_value());
  return evidence;
}

ranks::RankPicture failed_rank(int rank) {
  ranks::RankPicture picture{.rank = Rank{rank}, .process = {500 + rank, 9}};
  picture.ended = true;
  picture.status = Exited{1};
  return picture;
}

}  // namespace

TEST_CASE("what is no news of an attempt is an error that names the node", "[node_evidence]") {
  for (const char* text : {"", "[", "[]", "7", "null", "\"text\""}) {
    diagnose::Evidence evidence;
    const Result<void> added = add_evidence(text, kOther, evidence);
    REQUIRE(added.has_error());
    CHECK(added.error().code == Errc::peer_lost);
    CHECK(added.error().message == "node 2 (gpu-17) sent an unreadable report of its attempt");
    CHECK(evidence.output.empty());
  }
}

TEST_CASE("news without a field, or with one of another type, are those that are left",
          "[node_evidence]") {
  CHECK(heard("{}").output.empty());
  CHECK(heard(R"({"outputs":7,"remarks":{}})").remarks.empty());
  const auto evidence = heard(R"({"outputs":[{"source":7,"text":"a"},3],"remarks":["r",5]})");
  REQUIRE(evidence.output.size() == 2);
  CHECK(evidence.output[0].source == "gpu-17/");
  CHECK(evidence.output[0].text == "a");
  CHECK(evidence.output[1].text.empty());
  CHECK(evidence.remarks == std::vector<std::string>{"gpu-17: r"});
}

TEST_CASE("an output of a rank that cannot be is nobody's", "[node_evidence]") {
  for (const char* rank : {"-1", "10000001", "\"3\"", "1.5"})
    CHECK_FALSE(heard(std::string(R"({"outputs":[{"rank":)") + rank + "}]}").output.front().rank);
  CHECK(heard(R"({"outputs":[{"rank":0}]})").output.front().rank == Rank{0});
}

TEST_CASE("what another node tells is bounded, whatever it claims", "[node_evidence]") {
  std::string outputs;
  for (int i = 0; i < 2'000; ++i) outputs += std::string(i > 0 ? "," : "") + "{}";
  CHECK(heard(R"({"outputs":[)" + outputs + "]}").output.size() == 1'024);

  std::string remarks;
  for (int i = 0; i < 100; ++i) remarks += std::string(i > 0 ? "," : "") + "\"r\"";
  CHECK(heard(R"({"remarks":[)" + remarks + "]}").remarks.size() == 64);

  const std::string endless(100'000, 'x');
  const auto evidence =
      heard(R"({"outputs":[{"source":")" + endless + R"(","text":")" + endless + R"("}]})");
  CHECK(evidence.output.front().text.size() == 32 * 1024);
  CHECK(evidence.output.front().source.size() == std::string("gpu-17/").size() + 1'024);
}

TEST_CASE("a node's streams share the room: each keeps its own end", "[node_evidence]") {
  diagnose::Evidence theirs;
  for (int rank = 0; rank < 4; ++rank)
    theirs.output.push_back(
        {"rank-" + std::to_string(rank), Rank{rank}, std::string(20'000, 'x') + "end"});
  const auto evidence = heard(to_text(theirs));
  REQUIRE(evidence.output.size() == 4);
  for (const diagnose::Output& one : evidence.output) {
    CHECK(one.text.size() == 8 * 1024);
    CHECK(one.text.ends_with("end"));
  }
}

TEST_CASE("of more than 64 streams the first are told", "[node_evidence]") {
  diagnose::Evidence theirs;
  for (int i = 0; i < 100; ++i) theirs.output.push_back({std::to_string(i), std::nullopt, "x"});
  const auto evidence = heard(to_text(theirs));
  REQUIRE(evidence.output.size() == 64);
  CHECK(evidence.output.back().source == "gpu-17/63");
}

TEST_CASE("a remark is cut where it is too long, at a whole character", "[node_evidence]") {
  diagnose::Evidence theirs;
  theirs.remarks = {std::string(1'023, 'r') + "ü"};
  CHECK(heard(to_text(theirs)).remarks ==
        std::vector<std::string>{"gpu-17: " + std::string(1'023, 'r')});
}

TEST_CASE("output that begins in the middle of a character still travels", "[node_evidence]") {
  diagnose::Evidence theirs;
  theirs.output = {{"stderr", std::nullopt, "\x9cnd\xff"}};
  CHECK(heard(to_text(theirs)).output.front().text == "\xEF\xBF\xBDnd\xEF\xBF\xBD");
}

TEST_CASE("the news of several nodes stand side by side", "[node_evidence]") {
  diagnose::Evidence theirs;
  theirs.output = {{"stderr", std::nullopt, "a"}};
  diagnose::Evidence evidence;
  evidence.output = {{"stderr", std::nullopt, "ours"}};
  for (const char* host : {"gpu-1", "gpu-2"})
    REQUIRE(add_evidence(to_text(theirs), {1, host}, evidence).has_value());
  std::vector<std::string> sources;
  for (const diagnose::Output& one : evidence.output) sources.push_back(one.source);
  CHECK(sources == std::vector<std::string>{"stderr", "gpu-1/stderr", "gpu-2/stderr"});
}

TEST_CASE("a rank that ended with a status that nobody knows has not failed", "[node_evidence]") {
  ranks::RankPicture unknown = failed_rank(3);
  unknown.status.reset();
  ranks::RanksSeen seen;
  add_failed(2, {unknown}, seen);
  CHECK(seen.exits.empty());
}

TEST_CASE("a rank that failed without an exception is known by its end alone", "[node_evidence]") {
  ranks::RanksSeen seen;
  add_failed(2, {failed_rank(3), failed_rank(4)}, seen);
  REQUIRE(seen.exits.size() == 2);
  CHECK(seen.exits.front().process == ProcessId{503, 9, 2});
  CHECK(seen.raised.empty());
}

TEST_CASE("a host that is not known is not invented", "[node_evidence]") {
  diagnose::Evidence evidence;
  evidence.failure.ended = {{Rank{2}, {100, 1, 5}, Exited{1}}};
  evidence.ended_in_stop = {{Rank{3}, {100, 1, 1}, Exited{1}}};
  add_hosts({{1, "gpu-1"}}, evidence);
  CHECK(evidence.hosts == std::map<Rank, std::string>{{Rank{3}, "gpu-1"}});
}
