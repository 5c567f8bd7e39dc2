#include "safelaunch/ranks/attempt_place.h"

#include <vector>

#include "catch.h"
#include "rank_story.h"

using namespace safelaunch;

using namespace safelaunch::ranks;
using namespace std::chrono_literals;

TEST_CASE("root's command that hands on to another user is known by its first word") {
  const std::vector<std::string> gosu{"/usr/local/bin/gosu", "alice", "python3", "train.py"};
  CHECK(changes_user(gosu, 0) == "gosu");
  CHECK(changes_user(gosu, 1000).empty());
  CHECK(changes_user(std::vector<std::string>{"python3", "gosu.py"}, 0).empty());
  CHECK(changes_user({}, 0).empty());
}

TEST_CASE(
    "of a rank that an entrypoint's script has handed to another user it is told what is lost") {
  host::ProcessFacts process;
  process.id.pid = 71;
  process.uid = 4001;
  CHECK_THAT(
      runs_as_another_user(Rank{3}, process),
      Catch::Matchers::ContainsSubstring("rank 3 (pid 71) runs as another user (uid 4001)") &&
          Catch::Matchers::ContainsSubstring("Start safelaunch as that user"));
}

TEST_CASE("every program that hands on to another user is known") {
  for (const char* program : {"gosu", "su-exec", "setpriv", "su", "sudo", "runuser", "setuidgid",
                              "s6-setuidgid", "chpst"}) {
    CHECK(changes_user(std::vector<std::string>{program, "alice", "python3"}, 0) == program);
    CHECK(changes_user(std::vector<std::string>{std::string("/sbin/") + program}, 0) == program);
  }
  for (const char* other : {"sudo2", "torchrun", "/usr/bin/", "env", ""})
    CHECK(changes_user(std::vector<std::string>{other}, 0).empty());
}

TEST_CASE("that ranks run as another user is told once", "[other_user]") {
  RankStory job;
  job.seen_by_a_look.processes = {rank_in_proc(0), rank_in_proc(1)};
  job.pass(1s);
  CHECK(job.all<FindUser>().size() == 2);
  host::ProcessFacts facts;
  facts.uid = 1000;
  job.on(AnotherUserRuns{Rank{0}, facts});
  job.on(AnotherUserRuns{Rank{1}, facts});
  REQUIRE(job.notices().size() == 1);
  CHECK(job.notices().front().find("another user (uid 1000)") != std::string::npos);
  CHECK(job.recorded<report::record::Notice>() == 1);
}

TEST_CASE("nobody misses a hook that was not to be given", "[other_user]") {
  RankStory job({.stages = {.world_size = 2}, .hook = false});
  job.seen_by_a_look.processes = {rank_in_proc(0)};
  job.pass(1s);
  CHECK_FALSE(job.did<FindUser>());
}
