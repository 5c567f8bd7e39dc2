// The effect of another node's news on the leader's watch, in each state of both.
#include "rank_story.h"

using namespace safelaunch;
using namespace safelaunch::ranks;
using namespace std::chrono_literals;

namespace {

using Told = RankStory;
using HappensToNodes = std::function<void(Told&)>;

constexpr auto kCollective = static_cast<std::size_t>(Stage::collective);
const NodeName kNode{1, "gpu-17"};

RankPicture other_rank(Activity activity = Activity::idling) {
  RankPicture picture{.rank = Rank{1}, .process = {501, 9}, .world = 2};
  picture.activity = activity;
  return picture;
}

RankPicture failed_there() {
  RankPicture picture = other_rank();
  picture.ended = true;
  picture.status = Exited{3};
  return picture;
}

RankPicture through_there() {
  RankPicture picture = other_rank();
  picture.reached[kCollective] = true;
  return picture;
}

struct NewsWord {
  std::string operator()(const RecordEvent& record) const {
    return std::holds_alternative<report::record::Node>(record.event) ? "record node" : "record";
  }
  std::string operator()(const RecordSome&) const { return "record some"; }
  std::string operator()(const TellVerdict& told) const {
    return "verdict on rank " + std::to_string(told.verdict.missing.at(0).rank.value);
  }
  std::string operator()(const BeginTraining&) const { return "training"; }
  std::string operator()(const SampleRanks&) const { return "sample"; }
  std::string operator()(const ShowStatus&) const { return "status"; }
  std::string operator()(const auto&) const { return "other"; }
};

/// One line an event: what it makes the leader's watch do that came into its state by `way`.
std::string what_news_do(const std::function<void(Told&)>& way) {
  const auto event = [](const WatchEvent& one) -> HappensToNodes {
    return [one](Told& job) { job.on(one); };
  };
  const std::vector<std::pair<std::string, HappensToNodes>> events{
      {"node comes", event(NodeSpoke{kNode, {other_rank()}})},
      {"node has no ranks", event(NodeSpoke{kNode, {}})},
      {"rank failed there", event(NodeSpoke{kNode, {failed_there()}})},
      {"rank is through there", event(NodeSpoke{kNode, {through_there()}})},
      {"another node comes", event(NodeSpoke{{2, "gpu-18"}, {}})},
      {"node is not heard", event(NodeHeard{1, false})},
      {"node is heard again", event(NodeHeard{1, true})},
      {"a node that nobody knows is not heard", event(NodeHeard{9, false})},
  };
  return testing::table_of<NewsWord, Told>(
      events, way, [](Told& job, const HappensToNodes& happens) { happens(job); });
}

void spoken(Told& job) {
  job.starts(0);
  job.on(NodeSpoke{kNode, {other_rank()}});
}

}  // namespace

TEST_CASE("what the news of another node do in each state of the leader's watch", "[nodes]") {
  SECTION("the node has not spoken yet") {
    CHECK(what_news_do([](Told& job) { job.starts(0); }) == R"(
node comes: record node
rank failed there: record node, verdict on rank 1
rank is through there: record node, record
nothing: node has no ranks; another node comes; node is not heard; node is heard again;
  a node that nobody knows is not heard
)");
  }
  SECTION("the node has spoken") {
    CHECK(what_news_do(spoken) == R"(
node has no ranks: record node
rank failed there: verdict on rank 1
rank is through there: record
nothing: node comes; another node comes; node is not heard; node is heard again;
  a node that nobody knows is not heard
)");
  }
  SECTION("the node is not heard") {
    CHECK(what_news_do([](Told& job) {
            spoken(job);
            job.on(NodeHeard{1, false});
          }) == R"(
node has no ranks: record node
rank failed there: verdict on rank 1
rank is through there: record
nothing: node comes; another node comes; node is not heard; node is heard again;
  a node that nobody knows is not heard
)");
  }
  SECTION("the ranks here are through") {
    CHECK(what_news_do([](Told& job) {
            spoken(job);
            job.reaches(0, Stage::collective);
          }) == R"(
node has no ranks: record node
rank failed there: verdict on rank 1
rank is through there: record, training
nothing: node comes; another node comes; node is not heard; node is heard again;
  a node that nobody knows is not heard
)");
  }
  SECTION("the job trains") {
    CHECK(what_news_do([](Told& job) {
            spoken(job);
            job.reaches(0, Stage::collective);
            job.on(NodeSpoke{kNode, {through_there()}});
          }) == R"(
node has no ranks: record node
nothing: node comes; rank failed there; rank is through there; another node comes;
  node is not heard; node is heard again; a node that nobody knows is not heard
)");
  }
  SECTION("a verdict has fallen") {
    CHECK(what_news_do([](Told& job) {
            spoken(job);
            job.ends(0, Exited{3});
          }) == R"(
nothing: node comes; node has no ranks; rank failed there; rank is through there;
  another node comes; node is not heard; node is heard again;
  a node that nobody knows is not heard
)");
  }
  SECTION("the job is being stopped") {
    CHECK(what_news_do([](Told& job) {
            spoken(job);
            job.on(WatchFreezes{});
          }) == R"(
nothing: node comes; node has no ranks; rank failed there; rank is through there;
  another node comes; node is not heard; node is heard again;
  a node that nobody knows is not heard
)");
  }
}

TEST_CASE("a node that has left and comes back under another name is known by that", "[nodes]") {
  RankStory job;
  spoken(job);
  job.on(NodeHeard{1, false});
  CHECK(job.machine().nodes_heard().empty());
  job.on(NodeSpoke{{1, "gpu-99"}, {other_rank()}});
  CHECK(job.machine().nodes_heard() == std::set<int>{1});
  job.waits(0, Stage::group, "gloo");
  job.pass(30min);
  REQUIRE(job.all<TellVerdict>().size() == 1);
  CHECK(job.all<TellVerdict>().front().verdict.missing.front().doing == "on gpu-99");
}

TEST_CASE("a rank that is started again on another node has not ended there", "[nodes]") {
  RankStory job({.stages = {.world_size = 2, .dead_rank = watch::DeadRank::is_restarted}});
  spoken(job);
  job.on(NodeSpoke{kNode, {failed_there()}});
  CHECK(job.seen().exits.size() == 1);
  RankPicture anew = other_rank();
  anew.process = {777, 12};
  job.on(NodeSpoke{kNode, {anew}});
  CHECK(job.seen().exits.empty());
}

TEST_CASE("the news of many nodes that come at once are weighed together, and none is lost",
          "[nodes]") {
  constexpr int kNodes = 100;
  constexpr int kRanksOfEach = 100;
  RankStory job({.stages = {.world_size = kNodes * kRanksOfEach}, .hook = true});
  for (int seat = 1; seat < kNodes; ++seat) {
    std::vector<RankPicture> ranks;
    for (int i = 0; i < kRanksOfEach; ++i) {
      ranks.push_back(other_rank());
      ranks.back().rank = Rank{seat * kRanksOfEach + i};
      ranks.back().process = {1'000 + i, 9};
    }
    job.on(NodeSpoke{{seat, "n"}, ranks});
  }
  job.pass(1s);
  int known = 0;
  for (const auto& [rank, state] : job.machine().stages().ranks()) known += state.known() ? 1 : 0;
  CHECK(known == (kNodes - 1) * kRanksOfEach);
}
