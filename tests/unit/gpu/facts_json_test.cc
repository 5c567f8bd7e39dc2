#include "launcher/gpu/facts_json.h"

#include <csignal>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "made_gpus.h"

namespace safelaunch::gpu {
namespace {

using testing::made_gpu;

constexpr Duration kDeadline{3'000};
const launch::HelperEnd kWell{Exited{0}, false, {}};

Facts read(const std::vector<std::string>& lines, const launch::HelperEnd& end = kWell) {
  Lines reading;
  for (const auto& line : lines) reading.take(line);
  return std::move(reading).finish(end, kDeadline);
}

/// A GPU with something in every field.
Gpu full_gpu() {
  Gpu gpu = testing::in_mig_mode(testing::with_process(made_gpu(3), 71, 4096), 2);
  gpu.processes.push_back({72, std::nullopt});
  gpu.capability = "9.0";
  gpu.numa_node = 1;
  gpu.busy_percent = 97;
  gpu.health = Health::reset_required;
  gpu.trouble = "GPU requires reset";
  gpu.compute_mode = ComputeMode::exclusive_process;
  gpu.errors = {3, true, true};
  gpu.recovery = "reset";
  gpu.fabric = FabricState::in_progress;
  gpu.fabric_trouble = "Unknown Error";
  gpu.links = {{0, true, "switch"}, {1, false, ""}};
  gpu.paths = {{0, "ok", "chipset", "NODE"}};
  return gpu;
}

std::string line_of(const Gpu& gpu) {
  nlohmann::ordered_json json;
  json["gpu"] = json_of(gpu);
  return json.dump();
}

TEST_CASE("what the reader writes of a GPU reads back as the same") {
  const auto facts = read({R"({"driver": "580.95.05", "cuda": "13.0"})", line_of(full_gpu()),
                           line_of(made_gpu(4)), R"({"done": true})"});
  CHECK(facts.trouble == Trouble::none);
  CHECK(facts.driver == "580.95.05");
  CHECK(facts.cuda == "13.0");
  REQUIRE(facts.gpus.size() == 2);
  CHECK(facts.gpus[0] == full_gpu());
  CHECK(facts.gpus[1] == made_gpu(4));
}

TEST_CASE("a driver that hangs is named with the GPU that it hangs on, and what was told is kept") {
  launch::HelperEnd hung;
  hung.timed_out = true;
  hung.status = Signaled{SIGKILL, false};
  const auto silent = read({}, hung);
  CHECK(silent.trouble == Trouble::no_answer);
  CHECK(silent.why == "the driver does not answer within 3s");

  const auto half = read(
      {R"({"driver": "580.95.05"})", R"({"asking": 0})", line_of(made_gpu(0)), R"({"asking": 1})"},
      hung);
  CHECK(half.why == "the driver does not answer within 3s (asked for GPU 1)");
  CHECK(half.gpus.size() == 1);
}

TEST_CASE(
    "a process that sits in the driver and cannot be killed is a driver that does not answer") {
  CHECK(read({}, launch::HelperEnd{}).trouble == Trouble::no_answer);
}

TEST_CASE("NVML's own errors are told in its words") {
  const auto facts = read({R"({"error": "Driver/library version mismatch", "code": 18})"},
                          {Exited{69}, false, {}});
  CHECK(facts.trouble == Trouble::driver_mismatch);
  CHECK(facts.why == "Driver/library version mismatch");
  CHECK(read({R"({"error": "Driver Not Loaded", "code": 9})"}).trouble == Trouble::no_driver);
  CHECK(read({R"({"error": "Insufficient Permissions", "code": 4})"}).trouble ==
        Trouble::no_permission);
  CHECK(read({R"({"error": "Unknown Error", "code": 999})"}).trouble == Trouble::failed);
}

TEST_CASE("a driver that crashes who asks is a fact") {
  const auto facts = read({R"({"asking": 2})"}, {Signaled{SIGSEGV, false}, false, {}});
  CHECK(facts.trouble == Trouble::crashed);
  CHECK(facts.why == "asking the driver failed (asked for GPU 2): killed by SIGSEGV");
}

TEST_CASE("garbage is told as such") {
  const auto facts = read({"garbage", "[1, 2]", R"({"gpu": 3})", "{", R"({"done": true})"});
  CHECK(facts.trouble == Trouble::failed);
  CHECK(facts.why == "4 lines of the answer make no sense");
}

TEST_CASE("an answer that breaks off without an error is none") {
  CHECK(read({R"({"driver": "580.95.05"})"}).trouble == Trouble::failed);
}

TEST_CASE("members of another type, and numbers beyond reason, read as not told") {
  const auto facts =
      read({R"({"gpu": {"index": "one", "uuid": 7, "memory_mib": 99999999999999, "mig": "yes",
      "numa": null, "processes": [3, {"pid": 5, "mib": -1e300}], "links": {}, "health": 1}})",
            R"({"done": true})"});
  REQUIRE(facts.gpus.size() == 1);
  CHECK(facts.gpus[0].uuid.empty());
  CHECK(facts.gpus[0].memory_mib == 0);
  CHECK_FALSE(facts.gpus[0].mig);
  CHECK(facts.gpus[0].processes == std::vector<Process>{{5, std::nullopt}});
  CHECK(facts.gpus[0].health == Health::failing);
}

TEST_CASE("a driver that counts thousands of GPUs does not fill our memory") {
  Lines reading;
  for (int i = 0; i < 1000; ++i) reading.take(line_of(made_gpu(1)));
  CHECK(std::move(reading).finish(kWell, kDeadline).gpus.size() == 64);
}

}  // namespace
}  // namespace safelaunch::gpu
