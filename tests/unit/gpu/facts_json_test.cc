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

TEST_CASE("each word of a GPU's state reads back, and one that nobody knows is the last") {
  const auto read_back = [](Gpu gpu) { return gpu_of(nlohmann::json::parse(json_of(gpu).dump())); };
  for (const auto mode : {ComputeMode::shared, ComputeMode::exclusive_process,
                          ComputeMode::prohibited, ComputeMode::unknown}) {
    Gpu gpu = made_gpu(0);
    gpu.compute_mode = mode;
    CHECK(read_back(gpu) == gpu);
  }
  for (const auto state :
       {FabricState::unsupported, FabricState::not_started, FabricState::in_progress,
        FabricState::completed, FabricState::unknown}) {
    Gpu gpu = made_gpu(0);
    gpu.fabric = state;
    CHECK(read_back(gpu) == gpu);
  }
  for (const auto health : {Health::well, Health::lost, Health::reset_required, Health::failing}) {
    Gpu gpu = made_gpu(0);
    gpu.health = health;
    CHECK(read_back(gpu) == gpu);
  }
  const Gpu odd = gpu_of({{"health", "splendid"}, {"compute_mode", "x"}, {"fabric", ""}});
  CHECK(odd.health == Health::failing);
  CHECK(odd.compute_mode == ComputeMode::unknown);
  CHECK(odd.fabric == FabricState::unknown);
}

TEST_CASE("what is not told is left out of the lines, and reads back as not told") {
  Gpu gpu = made_gpu(0);
  gpu.processes = {{71, std::nullopt}};
  const auto json = json_of(gpu);
  for (const char* name : {"numa", "busy_percent", "ecc_uncorrected", "trouble", "fabric_trouble"})
    CHECK_FALSE(json.contains(name));
  CHECK_FALSE(json["processes"][0].contains("mib"));
  CHECK(gpu_of(nlohmann::json::parse(json.dump())) == gpu);
}

TEST_CASE("memory errors beyond four billion read back as they are") {
  Gpu gpu = made_gpu(0);
  gpu.errors.uncorrected = 5'000'000'000;
  CHECK(gpu_of(nlohmann::json::parse(json_of(gpu).dump())) == gpu);
}

TEST_CASE("memory that is negative, or beyond any GPU, is not told") {
  for (const char* mib : {"-1", "4000001", "99999999999999", "1.5", "\"1\""}) {
    const std::string number(mib);
    const Gpu gpu =
        gpu_of(nlohmann::json::parse(R"({"memory_mib":)" + number + R"(,"used_mib":)" + number +
                                     R"(,"processes":[{"pid":5,"mib":)" + number +
                                     R"(}],"slices":[{"memory_mib":)" + number + "}]}"));
    CHECK(gpu.memory_mib == 0);
    CHECK(gpu.used_mib == 0);
    CHECK(gpu.processes == std::vector<Process>{{5, std::nullopt}});
    CHECK(gpu.slices == std::vector<MigDevice>{{"", 0}});
  }
  CHECK(gpu_of({{"used_mib", 4'000'000}}).used_mib == 4'000'000);
}

TEST_CASE("lists and texts without end are cut") {
  nlohmann::json json;
  for (const char* name : {"processes", "slices", "links", "paths"})
    json[name] = nlohmann::json(5'000, nlohmann::json::object());
  json["name"] = std::string(100'000, 'x');
  const Gpu gpu = gpu_of(json);
  CHECK(gpu.processes.size() == 512);
  CHECK(gpu.slices.size() == 512);
  CHECK(gpu.links.size() == 512);
  CHECK(gpu.paths.size() == 512);
  CHECK(gpu.name.size() == 1'024);
}

TEST_CASE("a line that was cut anywhere makes no sense, and the rest is kept") {
  const std::string whole = line_of(full_gpu());
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    const auto facts = read({line_of(made_gpu(0)), whole.substr(0, size), R"({"done": true})"});
    if (facts.gpus.size() != 1 || facts.trouble != Trouble::failed) FAIL("cut at " << size);
  }
}

TEST_CASE("one line too many of GPUs is told as senseless") {
  std::vector<std::string> lines(65, line_of(made_gpu(1)));
  lines.emplace_back(R"({"done": true})");
  CHECK(read(lines).why == "1 lines of the answer make no sense");
}

TEST_CASE("each code of NVML that has a meaning of its own has it, and another is a failure") {
  for (const auto& [code, trouble] :
       {std::pair("4", Trouble::no_permission), std::pair("9", Trouble::no_driver),
        std::pair("12", Trouble::no_driver), std::pair("18", Trouble::driver_mismatch),
        std::pair("1", Trouble::failed), std::pair("15", Trouble::failed),
        std::pair("-4", Trouble::failed), std::pair("\"4\"", Trouble::failed)})
    CHECK(read({std::string(R"({"error": "x", "code": )") + code + "}"}).trouble == trouble);
  CHECK(read({R"({"error": 7})"}).trouble == Trouble::failed);
}

TEST_CASE("NVML's own error counts, however the process that told it ended") {
  launch::HelperEnd hung;
  hung.timed_out = true;
  const launch::HelperEnd crashed{Signaled{SIGSEGV, false}, false, {}};
  for (const auto& end : {hung, crashed, kWell})
    CHECK(read({R"({"error": "Driver Not Loaded", "code": 9})"}, end).trouble ==
          Trouble::no_driver);
}

TEST_CASE(
    "a whole answer counts though its process ended badly, and a deadline though it is whole") {
  const std::vector<std::string> whole{line_of(made_gpu(0)), R"({"done": true})"};
  CHECK(read(whole, {Signaled{SIGSEGV, false}, false, {}}).trouble == Trouble::none);
  launch::HelperEnd late{Signaled{SIGKILL, false}, true, {}};
  CHECK(read(whole, late).trouble == Trouble::no_answer);
}

TEST_CASE("an answer that breaks off is told with the last words of its process") {
  CHECK(read({}, {Exited{3}, false, "cannot execute binary file\n"}).why ==
        "asking the driver failed: exit status 3: cannot execute binary file");
}

TEST_CASE("of a number that is announced twice the last is the one that was asked for") {
  launch::HelperEnd hung;
  hung.timed_out = true;
  CHECK(read({R"({"asking": 0})", R"({"asking": 7})", R"({"asking": "x"})"}, hung).why ==
        "the driver does not answer within 3s (asked for GPU 7)");
}

}  // namespace
}  // namespace safelaunch::gpu
