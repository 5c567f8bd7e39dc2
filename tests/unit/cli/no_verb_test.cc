#include "launcher/cli/verbs.h"

#include "catch.h"

using namespace safelaunch::cli;
using Words = std::vector<std::string>;

TEST_CASE("a program of the system never runs for a verb that does not exist", "[no_verb]") {
  CHECK(no_verb(Words{"watch", "-n1", "date"}, "/usr/bin/watch").value() ==
        "there is no verb 'watch'; safelaunch status --watch shows your running jobs\n"
        "To run /usr/bin/watch all the same: safelaunch -- watch -n1 date");
  CHECK(no_verb(Words{"kill"}, "/bin/kill"));
}

TEST_CASE("a program of one's own may be called like any verb of other tools", "[no_verb]") {
  CHECK_FALSE(no_verb(Words{"watch"}, "/home/me/bin/watch"));
  CHECK_FALSE(no_verb(Words{"start"}, "./start"));
  CHECK_FALSE(no_verb(Words{"start"}, "start"));
}

TEST_CASE("programs that stand before a training are no verbs", "[no_verb]") {
  for (const char* word : {"srun", "mpirun", "make", "time", "nice", "env", "timeout", "tini",
                           "true", "sh", "bash", "python3", "uv", "torchrun", "cat"})
    CHECK_FALSE(no_verb(Words{word}, std::string("/usr/bin/") + word));
}

TEST_CASE("no verb of safelaunch's is taken for another tool's", "[no_verb]") {
  for (const Verb* verb : verbs()) CHECK_FALSE(instead_of(verb->name));
}
