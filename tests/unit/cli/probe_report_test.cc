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
  ground.driver = {gpu::Trouble::none, "", "13.0", {"NVIDIA H100", "NVIDIA H100"}};
  ground.ranks = 2;
  return ground;
}

const probe::ProbedProfile kWorkingProfile{"cumem-host", probe::Works{312.4, 1.5, 45.31}, ""};
const probe::ProbedProfile kFailedProfile{
    "basic", probe::Failed{{{1, probe::Phase::first_all_reduce, "system error"}}}, "shm-small"};
const probe::ProbedProfile kHungProfile{"no-shm", probe::Hung{probe::Phase::init, {0, 1}}, ""};
const probe::ProbedProfile kUntoldProfile{"gloo-fallback", probe::Untold{"gloo does without NCCL"},
                                          ""};

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
  CHECK(render_probe_row(kWorkingProfile, 2, 13) ==
        "cumem-host        312 ms    45.3 GB/s  driver ✓ device ✓ nccl ✓ init ✓ all_reduce ✓\n");
  CHECK(render_probe_row(kFailedProfile, 2, 13) ==
        "basic                  -            -  driver ✓ device ✓ nccl ✓ init ✓ all_reduce ✗ "
        "/dev/shm is too small or full (shm-small)\n");
  CHECK(render_probe_row(kHungProfile, 2, 13) ==
        "no-shm                 -            -  driver ✓ device ✓ nccl ✓ init ✗ "
        "ranks 0 1: no answer within the deadline\n");
  CHECK(render_probe_row(kUntoldProfile, 2, 13) ==
        "gloo-fallback          -            -  not probed: gloo does without NCCL\n");
}

TEST_CASE("the JSON holds the same") {
  const std::vector probed{kWorkingProfile, kFailedProfile, kHungProfile, kUntoldProfile};
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

TEST_CASE("an NCCL that tells nothing of itself is of unknown version") {
  ProbeGround ground;
  ground.nccl_file = "/x";
  ground.nccl_origin = "--nccl";
  CHECK(version_text(ground.nccl) == "of unknown version");
  CHECK(render_nccl(ground) == "NCCL of unknown version (--nccl: /x)\n");
}

TEST_CASE("one GPU and one rank are told as one") {
  auto ground = two_gpus();
  ground.driver.names.resize(1);
  ground.ranks = 1;
  CHECK(render_driver(ground) == "1 GPU (NVIDIA H100), CUDA 13.0, 1 rank\n");
  ground.ranks = 2;
  CHECK(render_driver(ground) ==
        "1 GPU (NVIDIA H100), CUDA 13.0, 2 ranks\n"
        "  ranks share a GPU: what follows tells nothing of links between GPUs\n");
}

TEST_CASE("the table's title stands over its columns") {
  CHECK(render_probe_header(13) == "\nprofile             init    bandwidth\n");
}

TEST_CASE("a bandwidth has two decimals below ten, else one, and none was measured of one rank") {
  const auto row = [](std::optional<double> bandwidth) {
    return render_probe_row({"basic", probe::Works{1, 1, bandwidth}, ""}, 2, 7);
  };
  CHECK_THAT(row(9.5), Catch::Matchers::ContainsSubstring("  9.50 GB/s  "));
  CHECK_THAT(row(10), Catch::Matchers::ContainsSubstring("  10.0 GB/s  "));
  CHECK_THAT(row(0), Catch::Matchers::ContainsSubstring("  0.00 GB/s  "));
  CHECK(render_probe_row({"basic", probe::Works{1.6, 1, {}}, ""}, 1, 7) ==
        "basic         2 ms            -  driver ✓ device ✓ nccl ✓ init ✓\n");
}

TEST_CASE("a failure that names no rank has no words") {
  CHECK(render_probe_row({"basic", probe::Failed{}, ""}, 2, 7)
            .starts_with("basic            -            -  driver ✓"));
}

TEST_CASE("the JSON of each verdict has its own members") {
  struct Row {
    probe::ProbedProfile probed;
    std::string_view json;
  };
  const probe::ProbedProfile one_rank{"basic", probe::Works{300, 1.5, {}}, ""};
  for (const Row& row :
       {Row{kWorkingProfile, R"({"profile":"cumem-host","verdict":"works","init_ms":312.4,
                        "first_all_reduce_ms":1.5,"bus_gb_per_s":45.31})"},
        Row{one_rank, R"({"profile":"basic","verdict":"works","init_ms":300.0,
                          "first_all_reduce_ms":1.5,"bus_gb_per_s":null})"},
        Row{kFailedProfile, R"({"profile":"basic","verdict":"failed","phase":"first_all_reduce",
                        "failures":[{"rank":1,"phase":"first_all_reduce","words":"system error"}],
                        "why":"rank 1: system error","cause":"shm-small"})"},
        Row{kHungProfile, R"({"profile":"no-shm","verdict":"hung","phase":"init","ranks":[0,1],
                        "why":"ranks 0 1: no answer within the deadline"})"},
        Row{kUntoldProfile, R"({"profile":"gloo-fallback","verdict":"not probed",
                         "why":"gloo does without NCCL"})"}}) {
    INFO(row.probed.profile);
    CHECK(nlohmann::json::parse(profile_json(row.probed)) == nlohmann::json::parse(row.json));
  }
}

TEST_CASE("words of a rank that are no UTF-8 become JSON all the same") {
  const probe::ProbedProfile odd{"basic", probe::Failed{{{0, probe::Phase::init, "bad \xff byte"}}},
                                 ""};
  CHECK(nlohmann::json::parse(profile_json(odd))["why"] == "rank 0: bad \ufffd byte");
}

TEST_CASE("a probe of nothing is JSON without a profile") {
  const auto json = nlohmann::json::parse(probe_json({}, {}, {}));
  CHECK(json["nccl"]["version"] == "");
  CHECK(json["gpus"].empty());
  CHECK(json["profiles"].empty());
  CHECK(json["fastest"] == "");
  CHECK(json["ranks"] == 1);
}

TEST_CASE("the end of a probe is its conclusion, and the line to type where there is one") {
  CHECK(render_conclusion({"basic", "basic works", "safelaunch --profile basic"}) ==
        "\nbasic works\nuse: safelaunch --profile basic\n");
  CHECK(render_conclusion({"", "none works", ""}) == "\nnone works\n");
}
