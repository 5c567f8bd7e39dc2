#include "safelaunch/ranks/node_ranks.h"

#include <csignal>

#include "rank_story.h"

using namespace safelaunch;
using namespace safelaunch::ranks;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kNodeRendezvous = static_cast<std::size_t>(Stage::rendezvous);
constexpr std::size_t kNodeGroup = static_cast<std::size_t>(Stage::group);

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
  picture.entered[kNodeRendezvous] = picture.reached[kNodeRendezvous] =
      picture.entered[kNodeGroup] = true;
  picture.awaits = {Rank{0}, Rank{3}};
  picture.group = "12";
  picture.prepares = true;
  picture.blind = true;
  picture.ended = true;
  picture.status = Signaled{11};
  picture.raised =
      RankRaised{Rank{3}, picture.process, "ValueError", "no\xff data", "Trace", true, true};
  const auto read = picture_from(to_text(NodePicture{2, {picture}}));
  REQUIRE(read.has_value());
  CHECK(read->attempt == 2);
  REQUIRE(read->ranks.size() == 1);
  picture.raised->message = "no\xEF\xBF\xBD data";  // JSON has no broken characters
  CHECK(read->ranks.front() == picture);
  CHECK(read->ranks.front().raised->communication);
  CHECK(read->ranks.front().raised->after_a_kill);
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
  waits.reached[kNodeRendezvous] = waits.entered[kNodeGroup] = true;
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

TEST_CASE("the groups that a rank of another node makes are told one by one", "[nodes]") {
  constexpr auto kCommunicator = static_cast<std::size_t>(Stage::communicator);
  RankPicture makes = idle_rank(1);
  makes.entered[kCommunicator] = true;
  makes.group = "3";
  makes.awaits = {Rank{0}, Rank{1}};
  RankPicture has_world = idle_rank(1);
  has_world.entered[kCommunicator] = has_world.reached[kCommunicator] = true;
  const auto begun = events_between(kOther, {has_world}, {makes});
  REQUIRE(begun.size() == 1);
  CHECK(std::get<StageEntered>(begun.front()).detail == "3");
  CHECK(std::get<StageEntered>(begun.front()).awaits == makes.awaits);
  RankPicture makes_next = makes;
  makes_next.group = "4";
  const auto next = events_between(kOther, {makes}, {makes_next});
  REQUIRE(next.size() == 2);
  CHECK(std::holds_alternative<StageLeft>(next.front()));
  CHECK(std::get<StageEntered>(next.back()).detail == "4");
  CHECK(has<StageReached>(events_between(kOther, {makes}, {has_world})));
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

namespace {

/// The picture of one rank with these fields, read back; empty: it is an error.
std::optional<RankPicture> rank_with(const std::string& fields) {
  const auto picture = picture_from(R"({"attempt":1,"ranks":[{"rank":1,"pid":2)" + fields + "}]}");
  return picture ? std::optional(picture->ranks.front()) : std::nullopt;
}

std::string error_of(const std::string& text) {
  const auto picture = picture_from(text);
  return picture ? "" : picture.error().message;
}

std::string names_of_events(const std::vector<Event>& events) {
  std::string text;
  for (const Event& event : events) {
    if (const auto* entered = std::get_if<StageEntered>(&event))
      text += std::string("enters ") + name(entered->stage) + ", ";
    else if (const auto* left = std::get_if<StageLeft>(&event))
      text += std::string("leaves ") + name(left->stage) + ", ";
    else if (const auto* reached = std::get_if<StageReached>(&event))
      text += std::string("reaches ") + name(reached->stage) + ", ";
    else if (std::holds_alternative<RankStarted>(event))
      text += "starts, ";
    else if (std::holds_alternative<RankSilent>(event))
      text += "is silent, ";
    else if (std::holds_alternative<RankRaised>(event))
      text += "raises, ";
    else if (std::holds_alternative<RankExited>(event))
      text += "ends, ";
  }
  return text;
}

}  // namespace

TEST_CASE("what is wrong with a picture is named by its field", "[nodes]") {
  CHECK(error_of("7") == "the picture of the ranks lacks its \"attempt\"");
  CHECK(error_of(R"({"attempt":-1,"ranks":[]})") ==
        "the picture of the ranks lacks its \"attempt\"");
  CHECK(error_of(R"({"attempt":1})") == "the picture of the ranks lacks its \"ranks\"");
  CHECK(error_of(R"({"attempt":1,"ranks":[{"pid":3}]})") ==
        "the news of a rank lacks its number (\"rank\")");
  CHECK(error_of(R"({"attempt":1,"ranks":[{"rank":3}]})") ==
        "the news of a rank lacks its \"pid\"");
}

TEST_CASE("a node has 4096 ranks at most", "[nodes]") {
  const auto picture_of_ranks = [](int count) {
    std::string ranks;
    for (int i = 0; i < count; ++i)
      ranks += std::string(i > 0 ? "," : "") + R"({"rank":1,"pid":2})";
    return picture_from(R"({"attempt":1,"ranks":[)" + ranks + "]}");
  };
  CHECK(picture_of_ranks(4'096).has_value());
  CHECK_FALSE(picture_of_ranks(4'097).has_value());
}

TEST_CASE("a status that no process can end with is none", "[nodes]") {
  for (const char* fields : {R"(,"code":-1)", R"(,"code":256)", R"(,"signal":0)",
                             R"(,"signal":128)", R"(,"code":"1")", R"(,"code":1.5)"})
    CHECK_FALSE(rank_with(fields)->status);
  CHECK(rank_with(R"(,"code":255)")->status == std::optional<ExitStatus>(Exited{255}));
  CHECK(rank_with(R"(,"signal":127)")->status == std::optional<ExitStatus>(Signaled{127}));
}

TEST_CASE("a world that no job has is not known", "[nodes]") {
  for (const char* fields : {R"(,"world":0)", R"(,"world":10000001)", R"(,"world":"2")"})
    CHECK_FALSE(rank_with(fields)->world);
  CHECK(rank_with(R"(,"world":10000000)")->world == 10'000'000);
}

TEST_CASE("what a rank does under a word that we do not know is unseen", "[nodes]") {
  CHECK(rank_with(R"(,"activity":"dreaming")")->activity == Activity::unseen);
  CHECK(rank_with(R"(,"activity":7)")->activity == Activity::unseen);
  for (const Activity activity :
       {Activity::dead, Activity::stopped, Activity::quiet, Activity::idling, Activity::working,
        Activity::attended, Activity::unseen})
    CHECK(rank_with(std::string(R"(,"activity":")") + name(activity) + "\"")->activity == activity);
}

TEST_CASE("texts of another node's ranks are cut where they are too long", "[nodes]") {
  const std::string endless(100'000, 'x');
  const auto rank =
      rank_with(R"(,"doing":")" + endless + R"(","store":")" + endless + R"(","raised":{"type":")" +
                endless + R"(","message":")" + endless + R"(","traceback":")" + endless + R"("})");
  REQUIRE(rank);
  REQUIRE(rank->raised);
  CHECK(std::vector{rank->doing.size(), rank->store.size(), rank->raised->type.size(),
                    rank->raised->message.size(), rank->raised->traceback.size()} ==
        std::vector<std::size_t>{200, 200, 200, 4'096, 4'096});
}

TEST_CASE("an exception that is no object is none", "[nodes]") {
  for (const char* fields : {R"(,"raised":"ValueError")", R"(,"raised":[])", R"(,"raised":null)"})
    CHECK_FALSE(rank_with(fields)->raised);
  CHECK(rank_with(R"(,"raised":{})")->raised);
}

TEST_CASE("a picture that was taken in the middle of a stage tells the stages in their order",
          "[nodes]") {
  RankPicture now = idle_rank(1);
  now.entered[kNodeRendezvous] = now.reached[kNodeRendezvous] = true;
  now.entered[kNodeGroup] = true;
  CHECK(names_of_events(events_between(kOther, {}, {now})) ==
        "starts, enters rendezvous, reaches rendezvous, enters group, ");
}

TEST_CASE("a stage that a rank has left without reaching it is left", "[nodes]") {
  RankPicture waits = idle_rank(1);
  waits.entered[kNodeGroup] = true;
  RankPicture through = waits;
  through.entered[kNodeGroup] = false;
  CHECK(names_of_events(events_between(kOther, {waits}, {through})) == "leaves group, ");
  through.reached[kNodeGroup] = true;
  CHECK(names_of_events(events_between(kOther, {waits}, {through})) == "reaches group, ");
}

TEST_CASE("a rank whose hook is lost on another node is silent from then on", "[nodes]") {
  RankPicture hooked = idle_rank(1);
  RankPicture blind = hooked;
  blind.blind = true;
  CHECK(names_of_events(events_between(kOther, {hooked}, {blind})) == "is silent, ");
  CHECK(names_of_events(events_between(kOther, {blind}, {blind})).empty());
  // One that was never heard has lost nothing.
  CHECK(names_of_events(events_between(kOther, {}, {blind})) == "starts, ");
}

TEST_CASE("an exception is told once, and a second one, too", "[nodes]") {
  RankPicture first = idle_rank(1);
  first.raised = RankRaised{Rank{1}, first.process, "ValueError", "a", "", false};
  RankPicture second = first;
  second.raised->message = "b";
  CHECK(names_of_events(events_between(kOther, {idle_rank(1)}, {first})) == "raises, ");
  CHECK(names_of_events(events_between(kOther, {first}, {first})).empty());
  const auto again = events_between(kOther, {first}, {second});
  REQUIRE(names_of_events(again) == "raises, ");
  CHECK(std::get<RankRaised>(again.front()).process.node == kOther.seat);
}

TEST_CASE("a rank that is missing in a picture has not ended: its agent may not see it",
          "[nodes]") {
  CHECK(events_between(kOther, {idle_rank(1)}, {}).empty());
}

TEST_CASE("ranks of a picture act under their node's name, but for those that have ended",
          "[nodes]") {
  RankPicture mute = idle_rank(1);
  mute.doing.clear();
  RankPicture ended = idle_rank(2);
  ended.ended = true;
  RankPicture unseen = idle_rank(3);
  unseen.activity = Activity::unseen;
  const auto activities = activities_of(kOther, {idle_rank(0), mute, ended, unseen});
  std::vector<std::string> doings;
  for (const RankActivity& one : activities) {
    doings.push_back(one.doing);
    CHECK(one.process.node == kOther.seat);
  }
  CHECK(doings ==
        std::vector<std::string>{"sleeping in hrtimer_nanosleep, on gpu-17", "on gpu-17"});
}
