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
  CHECK(with_processes(recognise({"./my.sh"}, {}, none), 2).has_error());
}
