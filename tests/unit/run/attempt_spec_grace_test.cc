#include "launcher/run/attempt_spec.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::run;
using namespace std::chrono_literals;

namespace {

job::Command command_of(job::Launcher launcher, std::optional<int> shutdown_timeout = {}) {
  job::Command command;
  command.launcher = launcher;
  command.shutdown_timeout = shutdown_timeout;
  return command;
}

}  // namespace

TEST_CASE("the ranks have 30 s, and torchrun some more to tell of them", "[grace]") {
  CHECK(grace_of({}, command_of(job::Launcher::python), {}) == Grace{30s, 30s});
  CHECK(grace_of({}, command_of(job::Launcher::torchrun), {}) == Grace{30s, 35s});
}

TEST_CASE("a longer time that torchrun was told is kept", "[grace]") {
  CHECK(grace_of({}, command_of(job::Launcher::torchrun, 300), {}).of_ranks == 300s);
  const Environment told{{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "120"}};
  CHECK(grace_of({}, command_of(job::Launcher::accelerate), told).of_ranks == 120s);
  CHECK(grace_of({}, command_of(job::Launcher::torchrun, 300), told).of_ranks == 300s);
  CHECK(grace_of({}, command_of(job::Launcher::deepspeed), told).of_ranks == 30s);
  CHECK(grace_of({}, command_of(job::Launcher::torchrun, 5), {}).of_ranks == 30s);
  const Environment nonsense{{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "soon"}};
  CHECK(grace_of({}, command_of(job::Launcher::torchrun), nonsense).of_ranks == 30s);
}

TEST_CASE("a grace of the command line beats what torchrun was told", "[grace]") {
  settings::RunOptions options;
  options.grace = 10s;
  CHECK(grace_of(options, command_of(job::Launcher::torchrun, 300), {}).of_ranks == 10s);
}

TEST_CASE("torchrun gets our time where the user has told it none", "[grace]") {
  const auto passed_on = [](Duration ranks, Environment environment) {
    pass_grace_on({ranks, ranks}, environment);
    return environment;
  };
  const std::string name = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT";
  CHECK(passed_on(30s, {}).empty());
  CHECK(passed_on(1500ms, {}) == Environment{{name, "2"}});
  CHECK(passed_on(90s, {{name, "20"}}) == Environment{{name, "20"}});
}
