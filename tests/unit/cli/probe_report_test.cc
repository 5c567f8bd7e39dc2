#include "launcher/cli/probe_text.h"

#include <nlohmann/json.hpp>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::cli;

namespace {

ProbeGround two_gpus() {
  ProbeGround ground;
  ground.nccl_file = "/opt/libnccl.so.2";
  ground.nccl_origin = "LD_LIBRARY_PATH";
  ground.nccl = {nccl::Version{2, 28, 9}, "eth0", "192.0.2.2", ""};
  ground.driver = {"13.0", {"NVIDIA H100", "NVIDIA H100"}};
  ground.ranks = 2;
  return ground;
}

const probe::ProbedProfile kWorks{"cumem-host", probe::Works{312.4, 1.5, 45.31}, ""};
const probe::ProbedProfile kFails{
    "basic", probe::Failed{{{1, probe::Phase::first_all_reduce, "system error"}}}, "shm-small"};
const probe::ProbedProfile kHangs{"no-shm", probe::Hung{probe::Phase::init, {0, 1}}, ""};
const probe::ProbedProfile kUntold{"gloo-fallback", probe::Untold{"gloo does without NCCL"}, ""};

}  // namespace

TEST_CASE("the ground names NCCL, the interface, and the GPUs") {
  const auto ground = two_gpus();
  CHECK(render_nccl(ground) ==
        "NCCL 2.28.9 (LD_LIBRARY_PATH: /opt/libnccl.so.2)\n  ranks meet over eth0 (192.0.2.2)\n");
  CHECK(render_driver(ground) == "2 GPUs (NVIDIA H100), CUDA 13.0, 2 ranks\n");
}

TEST_CASE("a wrong interface is told before anything is launched") {
  auto ground = two_gpus();
  ground.nccl.failure = "Bootstrap : no socket interface found";
  CHECK_THAT(render_nccl(ground),
             Catch::Matchers::ContainsSubstring("no rank could meet another") &&
                 Catch::Matchers::ContainsSubstring("no socket interface found"));
}

TEST_CASE("ranks that share a GPU tell nothing of links") {
  auto ground = two_gpus();
  ground.ranks = 4;
  CHECK_THAT(render_driver(ground),
             Catch::Matchers::ContainsSubstring("nothing of links between GPUs"));
}

TEST_CASE("each row holds profile, times, steps, and the cause in the catalogue's words") {
  CHECK(render_probe_row(kWorks, 2, 13) ==
        "cumem-host        312 ms    45.3 GB/s  driver ✓ device ✓ nccl ✓ init ✓ all_reduce ✓\n");
  CHECK(render_probe_row(kFails, 2, 13) ==
        "basic                  -            -  driver ✓ device ✓ nccl ✓ init ✓ all_reduce ✗ "
        "/dev/shm is too small or full (shm-small)\n");
  CHECK(render_probe_row(kHangs, 2, 13) ==
        "no-shm                 -            -  driver ✓ device ✓ nccl ✓ init ✗ "
        "ranks 0 1: no answer within the deadline\n");
  CHECK(render_probe_row(kUntold, 2, 13) ==
        "gloo-fallback          -            -  not probed: gloo does without NCCL\n");
}

TEST_CASE("the JSON holds the same") {
  const std::vector probed{kWorks, kFails, kHangs, kUntold};
  const auto json =
      nlohmann::json::parse(probe_json(two_gpus(), probed, probe::conclude(probed, 2)));
  CHECK(json["nccl"]["version"] == "2.28.9");
  CHECK(json["fastest"] == "cumem-host");
  CHECK(json["profiles"][0]["bus_gb_per_s"] == 45.31);
  CHECK(json["profiles"][1]["cause"] == "shm-small");
  CHECK(json["profiles"][1]["failures"][0]["rank"] == 1);
  CHECK(json["profiles"][2]["ranks"] == std::vector<int>{0, 1});
  CHECK(json["profiles"][3]["verdict"] == "not probed");
}
