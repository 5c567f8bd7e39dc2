#include "safelaunch/run/evidence.h"

#include <csignal>

#include "catch.h"

using namespace safelaunch;

namespace {

AttemptRecord spawned_by_torch(std::vector<RankExited> exits) {
  AttemptRecord record;
  record.command = Exited{1};
  record.ranks.exits = std::move(exits);
  record.tails = {{{std::nullopt, StdStream::err},
                   "torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with "
                   "exit code 3\n"}};
  return record;
}

AttemptContext by_script() {
  AttemptContext context;
  context.launcher = Launcher::python;
  return context;
}

}  // namespace

TEST_CASE("a rank that nobody saw before it failed is the first, not those that were ended for it",
          "[evidence]") {
  const auto record =
      spawned_by_torch({{Rank{0}, {}, Signaled{SIGTERM}}, {Rank{1}, {}, Signaled{SIGTERM}}});
  const Evidence evidence = make_evidence(record, by_script());
  REQUIRE(evidence.ended.size() == 3);
  CHECK(evidence.ended.front().rank == Rank{2});
  CHECK(evidence.ended.front().status == ExitStatus(Exited{3}));
}

TEST_CASE("a rank whose own failure was seen stays the first", "[evidence]") {
  const auto record = spawned_by_torch({{Rank{1}, {}, Exited{7}}});
  CHECK(make_evidence(record, by_script()).ended.front().rank == Rank{1});
}
