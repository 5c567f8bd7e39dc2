#include "safelaunch/ranks/ranks_seen.h"

#include "catch.h"
#include "rank_story.h"

using namespace safelaunch;

using namespace safelaunch::ranks;

namespace {

RankRaised raised(int rank, const std::string& text) {
  RankRaised here;
  here.rank = Rank{rank};
  here.message = text;
  return here;
}

}  // namespace

TEST_CASE("of thousands of exceptions the first and the last of each rank are kept",
          "[ranks_seen]") {
  std::vector<RankRaised> all;
  for (int i = 0; i < 10'000; ++i)
    for (const int rank : {0, 1}) note_raised(all, raised(rank, std::to_string(i)));
  std::vector<std::string> kept;
  for (const RankRaised& one : all)
    kept.push_back(std::to_string(one.rank.value) + ": " + one.message);
  CHECK(kept == std::vector<std::string>{"0: 0", "1: 0", "0: 9999", "1: 9999"});
}

TEST_CASE("a process may speak as several ranks, and not as ever more", "[ranks_seen]") {
  NamedRanks named;
  const ProcessId process{71, 1};
  int accepted = 0;
  for (int rank = 0; rank < 10'000; ++rank)
    if (named.accept(process, Rank{rank})) ++accepted;
  CHECK(accepted == 16);
  CHECK(named.accept(process, Rank{3}));  // those that it has named count on
  CHECK(named.accept({72, 1}, Rank{9'999}));
}

TEST_CASE("the calls of ranks are kept until they are finished", "[ranks_seen]") {
  using What = watch::HookCall::What;
  RankStory job;
  job.waits(0, Stage::collective, "recv_");
  const watch::FirstCall call{.operation = "recv", .group = "0", .peer = Rank{1}, .blocks = true};
  job.body(0, "coll.enter", watch::HookCall{What::begins, call});
  CHECK(job.seen().calls.at(Rank{0}) == call);
  job.body(0, "coll.done", watch::HookCall{What::ends, {.operation = "recv", .group = ""}});
  CHECK_FALSE(job.seen().calls.at(Rank{0}).open);
  job.body(0, "pg.enter",
           watch::HookCall{What::begins,
                           {.operation = "new_group", .group = "1", .members = {Rank{0}}}});
  CHECK(job.seen().groups.at(Rank{0}).at("1") == std::vector{Rank{0}});
  job.body(0, "init.enter", watch::HookCall{What::forgotten, {}});
  CHECK(job.seen().calls.empty());
  CHECK(job.seen().groups.empty());
}

TEST_CASE("of the file in which ranks meet only the first rank's view counts", "[ranks_seen]") {
  RankStory job;
  for (const int rank : {0, 1}) {
    job.waits(rank, Stage::group, "gloo");
    job.body(rank, "init.enter",
             watch::HookCall{watch::HookCall::What::forgotten,
                             {},
                             watch::InitFile{.path = "/tmp/init", .bytes = 40 * rank}});
  }
  REQUIRE(job.seen().init_file);
  CHECK(job.seen().init_file->bytes == 0);
}

TEST_CASE("a process that names ever more ranks is not heard", "[ranks_seen]") {
  RankStory job({.stages = {}, .hook = true});
  for (int rank = 0; rank < 100; ++rank)
    job.says({900, 9}, rank, StageReached{Rank{rank}, {900, 9}, Stage::imported});
  CHECK(job.machine().stages().ranks().size() <= 16);
}
