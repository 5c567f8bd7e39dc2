#include "rank_story.h"

using namespace safelaunch;
using namespace safelaunch::ranks;

// Two ranks of a torchrun, which gave them the port 29500. Rank 0 starts processes of its own.
namespace {

constexpr int kPort = 29'500;
const ProcessId kAgent{50, 1};

watch::ProcessOfRank rank_of_torchrun(int rank) {
  return {process_of(rank), watch::RankIdentity{Rank{rank}, 2, rank}, kPort};
}

class Job {
 public:
  explicit Job(std::optional<watch::RankIdentity> outer = std::nullopt)
      : story_({.stages = {.world_size = 2}, .hook = true, .outer = outer}) {
    for (const int rank : {0, 1}) story_.starts(rank);
    story_.does[0] = Activity::working;
  }

  /// A process below `rank` calls init as `number`.
  void child_meets(int rank, int child, int number, const std::string& meets, int size = 2) {
    StageEntered entered{Rank{number}, child_of(child), Stage::group, "gloo", size};
    entered.meets = meets;
    says(rank, child, number, entered);
  }
  /// A process below `rank` has been given a number and a port.
  void child_starts(int rank, int child, int number, int port) {
    RankStarted started{Rank{number}, child_of(child), 2, Source::hook};
    started.anew = true;
    const watch::RankIdentity identity{Rank{number}, 2, number};
    story_.on(HookSpoke{child_of(child),
                        message_of(number, started),
                        {{child_of(child), identity, port}, rank_of_torchrun(rank), {kAgent, {}}}});
  }
  void child_reaches(int rank, int child, int number, Stage stage) {
    says(rank, child, number, StageReached{Rank{number}, child_of(child), stage});
  }
  void meets(int rank) {
    StageEntered entered{Rank{rank}, process_of(rank), Stage::group, "gloo", 2};
    entered.meets = "localhost:29500";
    story_.on(HookSpoke{
        process_of(rank), message_of(rank, entered), {rank_of_torchrun(rank), {kAgent, {}}}});
  }
  [[nodiscard]] static ProcessId child_of(int child) { return {500 + child, 9}; }
  [[nodiscard]] std::optional<ProcessId> process(int rank) const {
    return story_.machine().stages().ranks().at(Rank{rank}).process();
  }
  RankStory& story() { return story_; }

 private:
  void says(int rank, int child, int number, const Event& event) {
    story_.on(HookSpoke{child_of(child),
                        message_of(number, event),
                        {{child_of(child), {}}, rank_of_torchrun(rank), {kAgent, {}}}});
  }
  RankStory story_;
};

}  // namespace

TEST_CASE("a world below a rank is the rank's work, whatever numbers it uses", "[worlds]") {
  const std::string meets = GENERATE("localhost:41000", "file:/tmp/init");
  Job job;
  job.meets(1);
  job.child_meets(0, 0, 0, meets);
  job.story().pass(11s);
  job.child_meets(0, 1, 1, meets);
  for (const int child : {0, 1}) job.child_reaches(0, child, child, Stage::collective);
  job.story().pass(1min);
  CHECK_FALSE(job.story().did<TellVerdict>());
  CHECK(job.process(0) == process_of(0));
  CHECK(job.process(1) == process_of(1));
  CHECK_FALSE(job.story().machine().stages().training());
  CHECK(job.story().machine().may_have_trained());

  job.meets(0);
  for (const int rank : {0, 1}) job.story().reaches(rank, Stage::collective);
  CHECK(job.story().machine().stages().training());
}

TEST_CASE("a rank that stays away while a world below another trains is named", "[worlds]") {
  Job job;
  job.meets(0);
  job.story().does[0] = Activity::quiet;
  job.story().does[1] = Activity::idling;
  for (const int child : {0, 1}) job.child_meets(1, child, child, "localhost:41000");
  job.story().pass(4min);
  REQUIRE(job.story().did<TellVerdict>());
  const Failure verdict = job.story().all<TellVerdict>().front().verdict;
  REQUIRE(verdict.missing.size() == 1);
  CHECK(verdict.missing.front().rank == Rank{1});
  CHECK(verdict.missing.front().doing ==
        "in a world below it rank 0 (pid 500) waits in group and rank 1 (pid 501) waits in group");
}

TEST_CASE("what a wrapper starts at the launcher's store is the rank", "[worlds]") {
  Job job;
  job.child_meets(0, 0, 0, "127.0.0.1:29500");
  CHECK(job.process(0) == Job::child_of(0));
}

TEST_CASE("one process below each rank, all at one store of their own, are the launcher's ranks",
          "[worlds]") {
  Job job;
  job.child_meets(0, 0, 0, "tcp:41000");
  CHECK(job.process(0) == process_of(0));
  job.child_meets(1, 1, 1, "tcp:41000");
  CHECK(job.process(0) == Job::child_of(0));
  CHECK(job.process(1) == Job::child_of(1));
  for (const int rank : {0, 1}) job.child_reaches(rank, rank, rank, Stage::collective);
  CHECK(job.story().machine().stages().training());
}

TEST_CASE("a process that was given another number and store than the rank above it is below it",
          "[worlds]") {
  Job job;
  job.child_starts(0, 0, 0, 41'000);
  job.child_starts(0, 1, 1, 41'000);
  job.child_meets(0, 0, 0, "localhost:41000");
  job.story().does = {{0, Activity::idling}, {1, Activity::quiet}};
  job.meets(1);
  job.story().pass(4min);
  REQUIRE(job.story().did<TellVerdict>());
  CHECK(job.story().all<TellVerdict>().front().verdict.missing.front().doing ==
        "in a world below it rank 0 (pid 500) waits in group and rank 1 (pid 501) has not come");
}

TEST_CASE("a node's number that the whole job inherits makes nobody a rank", "[worlds]") {
  const watch::RankIdentity pod{Rank{0}, 1, std::nullopt};
  Job job(pod);
  const ProcessId worker{600, 1};
  StageEntered entered{Rank{1}, worker, Stage::group, "gloo", 2};
  entered.meets = "localhost:41000";
  job.story().on(HookSpoke{worker,
                           message_of(1, entered),
                           {{worker, watch::RankIdentity{Rank{1}, 2, 1}}, {kAgent, pod, kPort}}});
  CHECK(job.process(1) == worker);
}

TEST_CASE("ranks that stand still while a world below them waits are a verdict", "[worlds]") {
  Job job;
  const auto stand_still = [&] {
    job.story().on(AllStandStill{{600s, watch::StoodStill::Then::is_told}, {{Rank{0}, "a sleep"}}});
    job.story().on(PlacesTold{});
  };
  stand_still();
  CHECK_FALSE(job.story().did<TellVerdict>());
  job.child_meets(0, 0, 0, "localhost:41000");
  stand_still();
  REQUIRE(job.story().did<TellVerdict>());
  CHECK(job.story().all<TellVerdict>().front().verdict.kind == FailureKind::stood_still);
}
