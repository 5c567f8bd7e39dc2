#include "safelaunch/job/command.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::job;
using Words = std::vector<std::string>;

namespace {

Words with_two(const Words& argv) {
  const auto none = [](const std::string&) { return FileAt{}; };
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
  const auto none = [](const std::string&) { return FileAt{}; };
  const Result<Command> refused = with_processes(recognise({"./my.sh"}, {}, none), 2);
  REQUIRE(refused.has_error());
  CHECK(refused.error().message ==
        "it sets 2 processes a node, but safelaunch cannot tell this command how many to start; "
        "drop it, or put torchrun or --nproc-per-node before the script");
}

namespace {

Result<Command> with_logs(const Words& argv, const Environment& environment = {}) {
  const auto none = [](const std::string&) { return FileAt{}; };
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

namespace {

std::string refused_two(const Words& argv) {
  const auto none = [](const std::string&) { return FileAt{}; };
  const Result<Command> result = with_processes(recognise(argv, {}, none), 2);
  return result.has_error() ? result.error().message : "accepted";
}

}  // namespace

TEST_CASE("an option that is put in stands before the dashes that end the options", "[processes]") {
  CHECK(with_two({"torchrun", "--standalone", "--", "t.py", "--x"}) ==
        Words{"torchrun", "--standalone", "--nproc_per_node", "2", "--", "t.py", "--x"});
  CHECK(with_two({"torchrun", "-m", "--", "pkg"}) ==
        Words{"torchrun", "--nproc_per_node", "2", "-m", "--", "pkg"});
  CHECK(with_two({"torchrun", "--no-python", "./run"}) ==
        Words{"torchrun", "--nproc_per_node", "2", "--no-python", "./run"});
  CHECK(with_logs({"torchrun", "--", "t.py"})->argv ==
        Words{"torchrun", "--tee", "3", "--log_dir", "/run/launcher", "--", "t.py"});
}

TEST_CASE("what is put in can be read back, and the script is still found", "[processes]") {
  const auto none = [](const std::string&) { return FileAt{}; };
  for (const Words& argv :
       {Words{"torchrun", "--nproc-per-node=8", "-m", "pkg", "-m"}, Words{"torchrun", "--", "t.py"},
        Words{"ft_launcher", "--ft-cfg-path", "c", "t.py"},
        Words{"deepspeed", "--num_gpus", "4", "--module", "pkg"},
        Words{"nice", "-n", "5", "accelerate", "launch", "--multi_gpu", "t.py", "--", "x"},
        Words{"python", "-mtorch.distributed.run", "--no_python", "./run"}}) {
    const Command before = recognise(argv, {}, none);
    const Command after = with_processes(before, 3).value();
    INFO(after.argv.size());
    CHECK(after.argv[after.script->word] == before.argv[before.script->word]);
    const Command again = recognise(after.argv, {}, none);
    CHECK(again.processes_per_node == ProcessCount{3});
    CHECK(again.script == after.script);
  }
}

TEST_CASE("accelerate is told the processes of all nodes together", "[processes]") {
  CHECK(with_two({"accelerate", "launch", "--num_machines", "4", "--num_processes", "32",
                  "t.py"}) == Words{"accelerate", "launch", "--num_machines", "4",
                                    "--num_processes", "32", "--num_processes", "8", "t.py"});
}

TEST_CASE("deepspeed takes no number of processes beside the devices that it is given",
          "[processes]") {
  const std::string refusal =
      "it sets 2 processes a node, but deepspeed takes no --num_gpus beside --include and "
      "--exclude; drop it, or these";
  CHECK(refused_two({"deepspeed", "--include", "localhost:0,1", "t.py"}) == refusal);
  CHECK(refused_two({"deepspeed", "-e", "localhost:0", "t.py"}) == refusal);
  CHECK(refused_two({"deepspeed", "--include=", "t.py"}) == "accepted");
}

TEST_CASE("one process is not called processes, and a script that is hidden gets no option",
          "[processes]") {
  const auto none = [](const std::string&) { return FileAt{}; };
  CHECK(with_processes(recognise({"python", "t.py"}, {}, none), 1).error().message ==
        "it sets 1 process a node, but safelaunch cannot tell this command how many to start; drop "
        "it, or put torchrun or --nproc-per-node before the script");
  CHECK(refused_two({"torchrun", "--new", "x", "t.py"}).starts_with("it sets 2 processes a node"));
  CHECK(refused_two({"torchrun"}).starts_with("it sets 2 processes a node"));
}

TEST_CASE("a launcher that cannot keep and show its ranks' output is named", "[rank_logs]") {
  const std::string rest =
      " has no place to say that each rank's output is kept by itself and shown all the "
      "same; torchrun and accelerate launch have, and --nproc-per-node needs none";
  CHECK(with_logs({"deepspeed", "t.py"}).error().message == "--rank-files: deepspeed" + rest);
  CHECK(with_logs({"python", "t.py"}).error().message == "--rank-files: python" + rest);
  CHECK(with_logs({"./my.sh"}).error().message == "--rank-files: this command" + rest);
  CHECK(with_logs({"torchrun", "--new", "x", "t.py"}).has_error());
}
