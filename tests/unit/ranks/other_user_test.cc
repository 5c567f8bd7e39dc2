#include "safelaunch/ranks/attempt_place.h"

#include <vector>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::ranks;

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
