#include "safelaunch/run/other_user.h"

#include <vector>

#include "catch.h"

using namespace safelaunch;

TEST_CASE("root's command that hands on to another user is known by its first word") {
  const std::vector<std::string> gosu{"/usr/local/bin/gosu", "alice", "python3", "train.py"};
  CHECK(changes_user(gosu, 0) == "gosu");
  CHECK(changes_user(gosu, 1000).empty());
  CHECK(changes_user(std::vector<std::string>{"python3", "gosu.py"}, 0).empty());
  CHECK(changes_user({}, 0).empty());
}
