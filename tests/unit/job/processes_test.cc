#include "safelaunch/job/command.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::job;
using Words = std::vector<std::string>;

namespace {

Words with_two(const Words& argv) {
  const auto none = [](const std::string&) { return std::optional<std::string>(); };
  return with_processes(recognise(argv, {}, none), 2).value().argv;
}

}  // namespace

TEST_CASE("the number of processes goes before the script, where it is the last word on it",
          "[processes]") {
  CHECK(with_two({"torchrun", "--nproc-per-node=8", "t.py", "--lr", "1"}) ==
        Words{"torchrun", "--nproc-per-node=8", "--nproc_per_node", "2", "t.py", "--lr", "1"});
  CHECK(with_two({"deepspeed", "--num_gpus", "4", "t.py"}) ==
        Words{"deepspeed", "--num_gpus", "4", "--num_gpus", "2", "t.py"});
}

TEST_CASE("the flag that makes the script a module stays beside it", "[processes]") {
  CHECK(with_two({"torchrun", "--nproc-per-node", "8", "-m", "pkg.train"}) ==
        Words{"torchrun", "--nproc-per-node", "8", "--nproc_per_node", "2", "-m", "pkg.train"});
}

TEST_CASE("a command without such an option is refused", "[processes]") {
  const auto none = [](const std::string&) { return std::optional<std::string>(); };
  const Result<Command> refused = with_processes(recognise({"./my.sh"}, {}, none), 2);
  REQUIRE(refused.has_error());
  CHECK(refused.error().message ==
        "it sets 2 processes a node, but safelaunch cannot tell this command how many to start; "
        "drop it, or put torchrun or --nproc-per-node before the script");
}

namespace {

Result<Command> with_logs(const Words& argv, const Environment& environment = {}) {
  const auto none = [](const std::string&) { return std::optional<std::string>(); };
  return with_rank_logs(recognise(argv, environment, none), "/run/launcher");
}

}  // namespace

TEST_CASE("torchrun and accelerate are told to keep each rank's output, before the script",
          "[rank_logs]") {
  CHECK(with_logs({"torchrun", "--nproc-per-node=8", "-m", "pkg.train", "--lr", "1"})->argv ==
        Words{"torchrun", "--nproc-per-node=8", "--tee", "3", "--log_dir", "/run/launcher", "-m",
              "pkg.train", "--lr", "1"});
  CHECK(with_logs({"accelerate", "launch", "--multi_gpu", "t.py"})->argv ==
        Words{"accelerate", "launch", "--multi_gpu", "--tee", "3", "--log_dir", "/run/launcher",
              "t.py"});
}

TEST_CASE("a user's own words on the ranks' output stay as they are", "[rank_logs]") {
  for (const Words& argv :
       {Words{"torchrun", "--log-dir", "mine", "t.py"}, Words{"torchrun", "-t", "3", "t.py"},
        Words{"torchrun", "--redirects=3", "t.py"},
        Words{"accelerate", "launch", "--tee", "3", "--multi_gpu", "t.py"}})
    CHECK(with_logs(argv)->argv == argv);
  const Words plain{"torchrun", "t.py"};
  CHECK(with_logs(plain, {{"PET_LOG_DIR", "mine"}})->argv == plain);
  CHECK(with_logs(plain, {{"PET_LOG_DIR", "mine"}})->rank_logs == "mine");
}

TEST_CASE("a launcher that cannot keep and show the output of ranks is refused", "[rank_logs]") {
  CHECK(with_logs({"deepspeed", "t.py"}).error().code == Errc::usage);
  CHECK(with_logs({"./my.sh"}).has_error());
}
