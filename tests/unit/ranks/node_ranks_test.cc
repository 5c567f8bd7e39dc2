#include "safelaunch/ranks/node_ranks.h"

#include <csignal>

#include "rank_story.h"

using namespace safelaunch;
using namespace safelaunch::ranks;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kRendezvous = static_cast<std::size_t>(Stage::rendezvous);
constexpr std::size_t kGroup = static_cast<std::size_t>(Stage::group);

const NodeName kOther{2, "gpu-17"};

RankPicture idle_rank(int rank) {
  RankPicture picture{.rank = Rank{rank}, .process = {500 + rank, 9}, .world = 2};
  picture.activity = Activity::idling;
  picture.doing = "sleeping in hrtimer_nanosleep";
  return picture;
}

template <class Wanted>
bool has(const std::vector<Event>& events) {
  return std::ranges::any_of(
      events, [](const Event& event) { return std::holds_alternative<Wanted>(event); });
}

}  // namespace

TEST_CASE("a picture of ranks reads back as it was", "[nodes]") {
  RankPicture picture = idle_rank(3);
  picture.store = "10.0.0.1:29500";
  picture.entered[kRendezvous] = picture.reached[kRendezvous] = picture.entered[kGroup] = true;
  picture.awaits = {Rank{0}, Rank{3}};
  picture.blind = true;
  picture.ended = true;
  picture.status = Signaled{11};
  picture.raised = RankRaised{Rank{3}, picture.process, "ValueError", "no\xff data", "Trace", true};
  const auto read = picture_from(to_text(NodePicture{2, {picture}}));
  REQUIRE(read.has_value());
  CHECK(read->attempt == 2);
  REQUIRE(read->ranks.size() == 1);
  picture.raised->message = "no\xEF\xBF\xBD data";  // JSON has no broken characters
  CHECK(read->ranks.front() == picture);
  CHECK(read->ranks.front().raised->communication);
  CHECK(read->ranks.front().status == std::optional<ExitStatus>(Signaled{11}));
}

TEST_CASE("a rank that had ended before it could be looked at is shown to the leader", "[nodes]") {
  RankStory job({.stages = {.world_size = 2, .judged_elsewhere = true}, .hook = true});
  const ProcessId gone{501, 0};
  job.on(RankSpawned{Rank{1}, gone});
  CHECK(picture_of(job.machine().stages().ranks(), {}).empty());
  job.on(ProcessEnded{Rank{1}, gone, Exited{0}});
  const auto picture = picture_of(job.machine().stages().ranks(), {});
  REQUIRE(picture.size() == 1);
  CHECK(picture.front().rank == Rank{1});
  CHECK(picture.front().ended);
  CHECK(picture.front().status == std::optional<ExitStatus>(Exited{0}));
}

TEST_CASE("what is no picture of ranks is an error, and no crash", "[nodes]") {
  for (const char* text :
       {"", "{}", "[]", R"({"attempt":1})", R"({"ranks":[]})", R"({"attempt":1,"ranks":[1]})",
        R"({"attempt":1,"ranks":[{"rank":-1,"pid":3}]})", R"({"attempt":1,"ranks":[{"rank":1}]})"})
    CHECK_FALSE(picture_from(text).has_value());
  CHECK(picture_from(R"({"attempt":1,"ranks":[{"rank":1,"pid":2,"entered":[99,-1],"code":999}]})")
            .has_value());
}

TEST_CASE("the leader takes the differences of two pictures for events", "[nodes]") {
  const RankPicture first = idle_rank(1);
  const auto came = events_between(kOther, {}, {first});
  REQUIRE(came.size() == 1);
  CHECK(std::get<RankStarted>(came.front()).process == ProcessId{501, 9, 2});

  RankPicture waits = first;
  waits.store = "10.0.0.1:29500";
  waits.reached[kRendezvous] = waits.entered[kGroup] = true;
  const auto entered = events_between(kOther, {first}, {waits});
  CHECK(has<StageReached>(entered));
  CHECK(has<StageEntered>(entered));
  CHECK_FALSE(has<RankStarted>(entered));
  CHECK(events_between(kOther, {waits}, {waits}).empty());

  RankPicture failed = waits;
  failed.ended = true;
  failed.status = Exited{3};
  failed.raised = RankRaised{Rank{1}, failed.process, "ValueError", "x", "", false};
  const auto ended = events_between(kOther, {waits}, {failed});
  REQUIRE(ended.size() == 2);
  CHECK(std::get<RankExited>(ended.back()).status == std::optional<ExitStatus>(Exited{3}));

  RankPicture anew = waits;
  anew.process = {777, 12};
  CHECK(has<RankStarted>(events_between(kOther, {failed}, {anew})));
}

TEST_CASE("a rank of another node that does not come is named with its host", "[nodes]") {
  RankStory job;
  job.starts(0);
  job.waits(0, Stage::group, "gloo");
  job.on(NodeSpoke{kOther, {idle_rank(1)}});
  job.pass(30min);
  REQUIRE(job.all<TellVerdict>().size() == 1);
  const Failure verdict = job.all<TellVerdict>().front().verdict;
  REQUIRE(verdict.missing.size() == 1);
  CHECK(verdict.missing.front().rank == Rank{1});
  CHECK(verdict.missing.front().activity == Activity::idling);
  CHECK(verdict.missing.front().doing == "sleeping in hrtimer_nanosleep, on gpu-17");
}

TEST_CASE("nothing on this host is looked up under the pid of another node's rank", "[nodes]") {
  RankStory job;
  job.starts(0);
  job.waits(0, Stage::group, "gloo");
  job.on(NodeSpoke{kOther, {idle_rank(1)}});
  job.pass(10s);
  for (const SampleRanks& sample : job.all<SampleRanks>())
    for (const AskedRank& asked : sample.ranks) CHECK(asked.process.is_here());
  for (const AskWhetherItHears& ask : job.all<AskWhetherItHears>()) CHECK(ask.process.is_here());
  for (const WatchExit& watch : job.all<WatchExit>()) CHECK(watch.process.is_here());
}

TEST_CASE("ranks of a node whose agent is silent are unseen, and not blamed", "[nodes]") {
  RankStory job;
  job.starts(0);
  job.waits(0, Stage::group, "gloo");
  job.on(NodeSpoke{kOther, {idle_rank(1)}});
  job.on(NodeHeard{2, false});
  job.pass(10min);
  CHECK_FALSE(job.did<TellVerdict>());
  CHECK(job.machine().nodes_heard().empty());
  job.on(NodeHeard{2, true});
  job.pass(30min);
  CHECK(job.did<TellVerdict>());
}

TEST_CASE("a rank that fails on another node is the leader's verdict at once", "[nodes]") {
  RankStory job;
  job.starts(0);
  RankPicture rank = idle_rank(1);
  job.on(NodeSpoke{kOther, {rank}});
  rank.ended = true;
  rank.status = Exited{3};
  job.on(NodeSpoke{kOther, {rank}});
  REQUIRE(job.all<TellVerdict>().size() == 1);
  CHECK(job.all<TellVerdict>().front().verdict.kind == FailureKind::rank_died);
  REQUIRE(job.seen().exits.size() == 1);
  CHECK(job.seen().exits.front().rank == Rank{1});
}

TEST_CASE("a job trains once the ranks of all nodes are through", "[nodes]") {
  RankStory job;
  job.starts(0);
  job.reaches(0, Stage::collective);
  RankPicture rank = idle_rank(1);
  job.on(NodeSpoke{kOther, {rank}});
  CHECK_FALSE(job.did<BeginTraining>());
  rank.reached[static_cast<std::size_t>(Stage::collective)] = true;
  job.on(NodeSpoke{kOther, {rank}});
  CHECK(job.did<BeginTraining>());
}

TEST_CASE("a rank of another node that ends while the job trains is not forgotten", "[nodes]") {
  RankStory job;
  job.starts(0);
  job.reaches(0, Stage::collective);
  RankPicture rank = idle_rank(1);
  rank.reached[static_cast<std::size_t>(Stage::collective)] = true;
  job.on(NodeSpoke{kOther, {rank}});
  REQUIRE(job.did<BeginTraining>());
  rank.ended = true;
  rank.status = Signaled{SIGKILL};
  job.on(NodeSpoke{kOther, {rank}});
  CHECK_FALSE(job.did<TellVerdict>());
  REQUIRE(job.seen().exits.size() == 1);
  CHECK(job.seen().exits.front().rank == Rank{1});
  CHECK(job.seen().exits.front().status == rank.status);
}

TEST_CASE("a member blames nobody, but tells of a rank of its own that fails", "[nodes]") {
  RankStory job({.stages = {.world_size = 2, .judged_elsewhere = true}, .hook = true});
  job.hang();
  job.pass(2h);
  CHECK_FALSE(job.did<TellVerdict>());
  job.ends(1, Exited{3});
  REQUIRE(job.did<TellVerdict>());
  CHECK(job.all<TellVerdict>().front().verdict.kind == FailureKind::rank_died);
}

TEST_CASE("where the leader watches, a member looks at its ranks though none of them waits",
          "[nodes]") {
  RankStory job({.stages = {.world_size = 4, .judged_elsewhere = true}, .hook = true});
  job.starts(0);
  job.starts(1);
  job.pass(5s);
  CHECK_FALSE(job.did<SampleRanks>());
  job.on(LeaderWatches{true});
  job.does[0] = Activity::idling;
  job.pass(5s);
  CHECK(job.all<SampleRanks>().size() > 5);
  CHECK(picture_of(job.machine().stages().ranks(), job.now).front().activity == Activity::idling);
  const std::size_t looked = job.all<SampleRanks>().size();
  job.on(LeaderWatches{false});
  job.pass(5s);
  CHECK(job.all<SampleRanks>().size() == looked);
}

TEST_CASE("the places at which ranks stand travel to the leader", "[nodes]") {
  RankAnswers answers;
  answers.stacks[Rank{5}] = {"train.py:40 load_data", "load_data (train.py:40)\nmain\n"};
  const auto read = answers_from(to_text(answers));
  REQUIRE(read.has_value());
  CHECK(read->stacks.at(Rank{5}).where == "train.py:40 load_data");
  CHECK(read->stacks.at(Rank{5}).frames == answers.stacks[Rank{5}].frames);
  CHECK_FALSE(answers_from("{").has_value());
}
