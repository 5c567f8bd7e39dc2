#include "launcher/gpu/reader/questions.h"

#include <algorithm>

#include "catch.h"
#include "launcher/gpu/facts_json.h"
#include "made_nvml.h"

namespace safelaunch::gpu {
namespace {

using testing::made_field;
using testing::MadeLink;
using testing::MadeNvml;
using testing::MadeNvmlGpu;

/// The facts that come through the lines, as safelaunch would have them.
Facts facts_from(MadeNvml& nvml) {
  Lines reading;
  const auto [lines, status] = nvml.told();
  for (const std::string& line : lines) reading.take(line);
  return std::move(reading).finish({Exited{status}, false, {}}, Duration(3'000));
}

Gpu gpu_from(MadeNvml& nvml) {
  const Facts facts = facts_from(nvml);
  CHECK(facts.trouble == Trouble::none);
  REQUIRE_FALSE(facts.gpus.empty());
  return facts.gpus.front();
}

bool was_called(const MadeNvml& nvml, const std::string& function) {
  return std::ranges::find(nvml.calls, function) != nvml.calls.end();
}

TEST_CASE("a healthy GPU is told with all that its driver knows") {
  MadeNvml nvml;
  nvml.gpus.front().used = 4'096ULL << 20;
  nvml.gpus.front().processes = {{71, 4'000ULL << 20}};
  nvml.gpus.front().fields[NVML_FI_DEV_GET_GPU_RECOVERY_ACTION] = made_field(0);
  nvml.gpus.front().fabric.state = NVML_GPU_FABRIC_STATE_COMPLETED;
  const Facts facts = facts_from(nvml);
  CHECK(facts.driver == "580.95.05");
  CHECK(facts.cuda == "13.0");
  Gpu expected;
  expected.uuid = "GPU-1";
  expected.name = "NVIDIA H100";
  expected.pci = "00000000:FF:1F.7";
  expected.capability = "9.0";
  expected.memory_mib = 81'920;
  expected.used_mib = 4'096;
  expected.busy_percent = 97;
  expected.processes = {{71, 4'000}};
  expected.compute_mode = ComputeMode::shared;
  expected.errors.uncorrected = 0;
  expected.recovery = "none";
  expected.fabric = FabricState::completed;
  CHECK(facts.gpus == std::vector<Gpu>{expected});
}

TEST_CASE("each question is announced, so that one that hangs is known") {
  MadeNvml nvml;
  nvml.gpus.resize(2);
  const auto [lines, status] = nvml.told();
  CHECK(status == 0);
  REQUIRE(lines.size() == 8);
  CHECK(lines[0] == R"({"driver":"580.95.05","cuda":"13.0"})");
  CHECK(lines[1] == R"({"asking":0})");
  CHECK(lines[2] == R"({"asking":1})");
  CHECK(lines[3] == R"({"asking":0})");
  CHECK(lines[4].starts_with(R"({"gpu":{"index":0,)"));
  CHECK(lines[5] == R"({"asking":1})");
  CHECK(lines[6].starts_with(R"({"gpu":{"index":1,)"));
  CHECK(lines[7] == R"({"done":true})");
}

TEST_CASE("a host without GPUs is told as such") {
  MadeNvml nvml;
  nvml.gpus.clear();
  CHECK(facts_from(nvml).gpus.empty());
  CHECK(facts_from(nvml).trouble == Trouble::none);
}

// ---- a driver that cannot be asked --------------------------------------------------------------

TEST_CASE("each reason why NVML cannot begin is told in its words") {
  struct Row {
    nvmlReturn_t error;
    Trouble trouble;
  };
  for (const Row& row : {Row{NVML_ERROR_LIB_RM_VERSION_MISMATCH, Trouble::driver_mismatch},
                         Row{NVML_ERROR_DRIVER_NOT_LOADED, Trouble::no_driver},
                         Row{static_cast<nvmlReturn_t>(4), Trouble::no_permission},
                         Row{static_cast<nvmlReturn_t>(999), Trouble::failed}}) {
    MadeNvml nvml;
    nvml.errors["nvmlInitWithFlags"] = row.error;
    const Facts facts = facts_from(nvml);
    CHECK(facts.trouble == row.trouble);
    CHECK(facts.why == "Some Error");
    CHECK_FALSE(was_called(nvml, "nvmlShutdown"));
    CHECK_FALSE(was_called(nvml, "nvmlInit_v2"));
  }
}

TEST_CASE("an NVML without words for an error is told by the number") {
  MadeNvml nvml;
  nvml.errors["nvmlInitWithFlags"] = NVML_ERROR_TIMEOUT;
  nvml.missing = {"nvmlErrorString"};
  CHECK(facts_from(nvml).why == "NVML error 10");
}

TEST_CASE("where there is no library there is no driver, and nothing is called") {
  const Nvml nvml{Nvml::Symbols()};
  std::vector<std::string> lines;
  CHECK(tell_gpu_facts(nvml, [&](const std::string& line) { lines.push_back(line); }) == 69);
  CHECK(lines ==
        std::vector<std::string>{
            R"({"error":"no NVIDIA driver: libnvidia-ml.so.1 cannot be opened","code":12})"});
}

TEST_CASE("of a library that is not there every function is missing") {
  const Nvml nvml{Nvml::Symbols()};
  CHECK(nvml.trouble() == NVML_ERROR_LIBRARY_NOT_FOUND);
  unsigned count = 7;
  CHECK(nvml.call<decltype(nvmlDeviceGetCount_v2)>("nvmlDeviceGetCount_v2", &count) ==
        NVML_ERROR_FUNCTION_NOT_FOUND);
  CHECK(count == 7);
}

TEST_CASE("a driver of before 2017 is begun in the older way") {
  MadeNvml nvml;
  nvml.missing = {"nvmlInitWithFlags"};
  CHECK(facts_from(nvml).gpus.size() == 1);
  CHECK(was_called(nvml, "nvmlInit_v2"));
  CHECK(was_called(nvml, "nvmlShutdown"));
}

TEST_CASE("a library that is no NVML has none of its functions") {
  MadeNvml nvml;
  nvml.missing = {"nvmlInitWithFlags", "nvmlInit_v2"};
  CHECK(facts_from(nvml).trouble == Trouble::failed);
}

TEST_CASE("a driver that cannot count its GPUs is told after its version") {
  MadeNvml nvml;
  nvml.errors["nvmlDeviceGetCount_v2"] = NVML_ERROR_UNINITIALIZED;
  const Facts facts = facts_from(nvml);
  CHECK(facts.trouble == Trouble::failed);
  CHECK(facts.driver == "580.95.05");
}

TEST_CASE("a CUDA that the driver does not tell is not made up") {
  MadeNvml nvml;
  for (const auto& [number, version] : {std::pair(12'090, "12.9"), std::pair(11'000, "11.0"),
                                        std::pair(0, ""), std::pair(-5, "")}) {
    nvml.cuda = number;
    CHECK(facts_from(nvml).cuda == version);
  }
}

TEST_CASE("a version that fills its buffer, and bytes that are no text, are told all the same") {
  MadeNvml nvml;
  nvml.driver = std::string(500, '5');
  CHECK(facts_from(nvml).driver == std::string(80, '5'));
  nvml.driver = "\xff";
  CHECK(facts_from(nvml).driver == "\uFFFD");
}

// ---- an old driver ------------------------------------------------------------------------------

TEST_CASE("a function that an old driver lacks leaves its fact untold, and no other") {
  struct Row {
    std::vector<std::string> missing;
    std::function<void(Gpu&)> without;
  };
  const auto full = [](MadeNvml& nvml) {
    MadeNvmlGpu& gpu = nvml.gpus.front();
    gpu.used = 1ULL << 30;
    gpu.processes = {{71, 1ULL << 30}};
    gpu.compute_mode = NVML_COMPUTEMODE_EXCLUSIVE_PROCESS;
    gpu.uncorrected = 3;
    gpu.rows_pending = gpu.rows_failed = true;
    gpu.fields[NVML_FI_DEV_GET_GPU_RECOVERY_ACTION] = made_field(1);
    gpu.fields[NVML_FI_DEV_NVLINK_LINK_COUNT] = made_field(1);
    gpu.fabric.state = NVML_GPU_FABRIC_STATE_NOT_STARTED;
    gpu.links = {MadeLink{}};
  };
  MadeNvml whole;
  full(whole);
  const Gpu told = gpu_from(whole);
  for (const Row& row : {
           Row{{"nvmlDeviceGetUUID"}, [](Gpu& gpu) { gpu.uuid.clear(); }},
           Row{{"nvmlDeviceGetName"}, [](Gpu& gpu) { gpu.name.clear(); }},
           Row{{"nvmlDeviceGetPciInfo_v3"}, [](Gpu& gpu) { gpu.pci.clear(); }},
           Row{{"nvmlDeviceGetCudaComputeCapability"}, [](Gpu& gpu) { gpu.capability.clear(); }},
           Row{{"nvmlDeviceGetMemoryInfo_v2"}, [](Gpu& gpu) { gpu.used_mib += 300; }},
           Row{{"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo"},
               [](Gpu& gpu) { gpu.memory_mib = gpu.used_mib = 0; }},
           Row{{"nvmlDeviceGetUtilizationRates"}, [](Gpu& gpu) { gpu.busy_percent.reset(); }},
           Row{{"nvmlDeviceGetComputeRunningProcesses_v3"},
               [](Gpu& gpu) { gpu.processes.clear(); }},
           Row{{"nvmlDeviceGetMPSComputeRunningProcesses_v3"}, [](Gpu&) {}},
           Row{{"nvmlDeviceGetComputeMode"},
               [](Gpu& gpu) { gpu.compute_mode = ComputeMode::unknown; }},
           Row{{"nvmlDeviceGetMigMode"}, [](Gpu&) {}},
           Row{{"nvmlDeviceGetTotalEccErrors"}, [](Gpu& gpu) { gpu.errors.uncorrected.reset(); }},
           Row{{"nvmlDeviceGetRemappedRows"},
               [](Gpu& gpu) { gpu.errors.repair_pending = gpu.errors.repair_failed = false; }},
           Row{{"nvmlDeviceGetFieldValues"}, [](Gpu& gpu) { gpu.recovery.clear(); }},
           Row{{"nvmlDeviceGetGpuFabricInfoV"},
               [](Gpu& gpu) { gpu.fabric = FabricState::unknown; }},
           Row{{"nvmlDeviceGetNvLinkState"}, [](Gpu& gpu) { gpu.links.clear(); }},
           Row{{"nvmlDeviceGetNvLinkRemoteDeviceType", "nvmlDeviceGetNvLinkRemotePciInfo_v2"},
               [](Gpu& gpu) { gpu.links.front().peer.clear(); }},
       }) {
    MadeNvml nvml;
    full(nvml);
    nvml.missing = {row.missing.begin(), row.missing.end()};
    Gpu expected = told;
    row.without(expected);
    INFO(row.missing.front());
    CHECK(gpu_from(nvml) == expected);
  }
}

TEST_CASE("what a GPU does not support is untold, and no sign of illness") {
  MadeNvml nvml;
  for (const char* function :
       {"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetMigMode",
        "nvmlDeviceGetRemappedRows", "nvmlDeviceGetGpuFabricInfoV"})
    nvml.errors[function] = NVML_ERROR_NOT_SUPPORTED;
  const Gpu gpu = gpu_from(nvml);
  CHECK(gpu.health == Health::well);
  CHECK(gpu.trouble.empty());
  CHECK_FALSE(gpu.busy_percent);
  CHECK_FALSE(gpu.errors.uncorrected);
}

// ---- health -------------------------------------------------------------------------------------

TEST_CASE("a GPU that NVML does not hand out is told with the reason, and the others wholly") {
  struct Row {
    nvmlReturn_t error;
    Health health;
  };
  for (const Row& row : {Row{NVML_ERROR_GPU_IS_LOST, Health::lost},
                         Row{NVML_ERROR_RESET_REQUIRED, Health::reset_required},
                         Row{NVML_ERROR_TIMEOUT, Health::failing}}) {
    MadeNvml nvml;
    nvml.gpus.resize(3);
    nvml.gpus[1].handle = row.error;
    const Facts facts = facts_from(nvml);
    REQUIRE(facts.gpus.size() == 3);
    CHECK(facts.gpus[1].health == row.health);
    CHECK(facts.gpus[1].index == 1);
    CHECK_FALSE(facts.gpus[1].trouble.empty());
    CHECK(facts.gpus[1].uuid.empty());
    CHECK(facts.gpus[2].health == Health::well);
    REQUIRE(facts.gpus[0].paths.size() == 1);  // none leads to the lost one
    CHECK(facts.gpus[0].paths[0].to == 2);
  }
}

TEST_CASE("whichever question says that the GPU is lost, it is lost") {
  for (const char* function :
       {"nvmlDeviceGetUUID", "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetUtilizationRates",
        "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeMode",
        "nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetFieldValues", "nvmlDeviceGetGpuFabricInfoV"}) {
    MadeNvml nvml;
    nvml.errors[function] = NVML_ERROR_GPU_IS_LOST;
    const Gpu gpu = gpu_from(nvml);
    INFO(function);
    CHECK(gpu.health == Health::lost);
    CHECK(gpu.trouble == "GPU is lost");
  }
  MadeNvml nvml;
  nvml.errors["nvmlDeviceGetComputeMode"] = NVML_ERROR_RESET_REQUIRED;
  CHECK(gpu_from(nvml).health == Health::reset_required);
}

TEST_CASE("each advice of the driver has its word") {
  const std::vector<std::string> words{"none",      "reset",           "reboot",
                                       "drain",     "drain and reset", "recover the IMEX domain",
                                       "bus reset", "reboot",          "unknown"};
  for (unsigned action = 0; action < words.size(); ++action) {
    MadeNvml nvml;
    nvml.gpus.front().fields[NVML_FI_DEV_GET_GPU_RECOVERY_ACTION] = made_field(action);
    CHECK(gpu_from(nvml).recovery == words[action]);
  }
}

TEST_CASE("a number is read in whatever type the driver has it") {
  for (const auto type : {NVML_VALUE_TYPE_UNSIGNED_INT, NVML_VALUE_TYPE_SIGNED_INT,
                          NVML_VALUE_TYPE_UNSIGNED_LONG, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG}) {
    MadeNvml nvml;
    nvml.gpus.front().fields[NVML_FI_DEV_GET_GPU_RECOVERY_ACTION] = made_field(1, type);
    CHECK(gpu_from(nvml).recovery == "reset");
  }
  MadeNvml nvml;
  nvml.gpus.front().fields[NVML_FI_DEV_GET_GPU_RECOVERY_ACTION] =
      made_field(1, static_cast<nvmlValueType_t>(0));  // a fraction
  CHECK(gpu_from(nvml).recovery.empty());
}

TEST_CASE("repairs are told by rows, and by pages where the GPU has no rows") {
  MadeNvml rows;
  rows.gpus.front().rows_failed = rows.gpus.front().pages_pending = true;
  CHECK(gpu_from(rows).errors == MemoryErrors{0, false, true});
  MadeNvml pages;
  pages.gpus.front().pages_pending = true;
  pages.errors["nvmlDeviceGetRemappedRows"] = NVML_ERROR_NOT_SUPPORTED;
  CHECK(gpu_from(pages).errors == MemoryErrors{0, true, false});
}

TEST_CASE("billions of memory errors are told, and more than a number holds as the most") {
  MadeNvml nvml;
  nvml.gpus.front().uncorrected = 5'000'000'000;
  CHECK(gpu_from(nvml).errors.uncorrected == 5'000'000'000);
  nvml.gpus.front().uncorrected = ~0ULL;
  CHECK(gpu_from(nvml).errors.uncorrected == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("memory beyond reason is not told") {
  MadeNvml nvml;
  nvml.gpus.front().total = nvml.gpus.front().used = ~0ULL;
  CHECK(gpu_from(nvml).memory_mib == 0);
  CHECK(gpu_from(nvml).used_mib == 0);
}

// ---- who is on it -------------------------------------------------------------------------------

TEST_CASE("processes of both lists are told once each, and an untold share is none") {
  MadeNvml nvml;
  nvml.gpus.front().processes = {{71, 1ULL << 30}, {72, ~0ULL}};
  nvml.gpus.front().mps = {{71, 2ULL << 30}, {73, 3ULL << 30}};
  CHECK(gpu_from(nvml).processes ==
        std::vector<Process>{{71, 1'024}, {72, std::nullopt}, {73, 3'072}});
}

TEST_CASE("more processes than there is room for are not told at all") {
  MadeNvml nvml;
  for (unsigned pid = 1; pid <= 256; ++pid) nvml.gpus.front().processes.emplace_back(pid, 0);
  CHECK(gpu_from(nvml).processes.size() == 256);
  nvml.gpus.front().processes.emplace_back(257, 0);
  CHECK(gpu_from(nvml).processes.empty());
}

TEST_CASE("each compute mode is told, and one that is not known as the strictest that runs") {
  for (const auto& [number, mode] :
       {std::pair(0U, ComputeMode::shared), std::pair(2U, ComputeMode::prohibited),
        std::pair(3U, ComputeMode::exclusive_process),
        std::pair(1U, ComputeMode::exclusive_process)}) {
    MadeNvml nvml;
    nvml.gpus.front().compute_mode = number;
    CHECK(gpu_from(nvml).compute_mode == mode);
  }
}

TEST_CASE("in MIG mode each slice is told, and holes among them are passed over") {
  MadeNvml nvml;
  nvml.gpus.front().mig = true;
  nvml.gpus.front().slices = {"MIG-a", "", "MIG-b"};
  const Gpu gpu = gpu_from(nvml);
  CHECK(gpu.mig);
  CHECK(gpu.slices == std::vector<MigDevice>{{"MIG-a", 40'192}, {"MIG-b", 40'192}});
}

TEST_CASE("in MIG mode without a slice there is none, and without the mode nobody asks") {
  MadeNvml nvml;
  nvml.gpus.front().mig = true;
  CHECK(gpu_from(nvml).mig);
  CHECK(gpu_from(nvml).slices.empty());
  nvml.gpus.front().mig = false;
  nvml.calls.clear();
  CHECK_FALSE(gpu_from(nvml).mig);
  CHECK_FALSE(was_called(nvml, "nvmlDeviceGetMaxMigDeviceCount"));
}

TEST_CASE("a driver that speaks of billions of slices is not asked for each") {
  MadeNvml nvml;
  nvml.gpus.front().mig = true;
  nvml.gpus.front().most_slices = ~0U;
  CHECK(gpu_from(nvml).slices.empty());
  CHECK(std::ranges::count(nvml.calls, "nvmlDeviceGetMigDeviceHandleByIndex") == 64);
}

// ---- fabric, links and paths --------------------------------------------------------------------

TEST_CASE("each state of the fabric is told, and its trouble only where it is completed") {
  for (const auto& [number, state] :
       {std::pair(0, FabricState::unsupported), std::pair(1, FabricState::not_started),
        std::pair(2, FabricState::in_progress), std::pair(3, FabricState::completed),
        std::pair(9, FabricState::unknown)}) {
    MadeNvml nvml;
    nvml.gpus.front().fabric.state = static_cast<nvmlGpuFabricState_t>(number);
    nvml.gpus.front().fabric.status = NVML_ERROR_TIMEOUT;
    CHECK(gpu_from(nvml).fabric == state);
    CHECK(gpu_from(nvml).fabric_trouble == (state == FabricState::completed ? "Some Error" : ""));
  }
}

TEST_CASE("an unhealthy route of the fabric is told, another unhealthy sign is not") {
  MadeNvml nvml;
  nvml.gpus.front().fabric.state = NVML_GPU_FABRIC_STATE_COMPLETED;
  for (const auto& [mask, trouble] :
       {std::pair(0x10U, "a route of the fabric is unhealthy"), std::pair(0x20U, ""),
        std::pair(0x30U, ""), std::pair(0x0fU, ""), std::pair(0U, "")}) {
    nvml.gpus.front().fabric.healthMask = mask;
    CHECK(gpu_from(nvml).fabric_trouble == trouble);
  }
}

TEST_CASE("links are told with their other end, and one that is down without") {
  MadeNvml nvml;
  nvml.gpus.front().links = {
      {true, true, ""}, {true, false, "00000000:1B:00.0"}, {false, true, ""}};
  CHECK(gpu_from(nvml).links ==
        std::vector<Link>{{0, true, "switch"}, {1, true, "00000000:1B:00.0"}, {2, false, ""}});
}

TEST_CASE("no more links are asked for than the GPU says it has, nor than there can be") {
  MadeNvml nvml;
  nvml.gpus.front().links.resize(100);
  CHECK(gpu_from(nvml).links.size() == NVML_NVLINK_MAX_LINKS);
  for (const unsigned count : {0U, 4U, 18U}) {
    nvml.gpus.front().fields[NVML_FI_DEV_NVLINK_LINK_COUNT] = made_field(count);
    CHECK(gpu_from(nvml).links.size() == count);
  }
  nvml.gpus.front().fields[NVML_FI_DEV_NVLINK_LINK_COUNT] = made_field(1'000'000);
  CHECK(gpu_from(nvml).links.size() == NVML_NVLINK_MAX_LINKS);
}

TEST_CASE("each way to another GPU has its words") {
  struct Row {
    unsigned read, write, level;
    Path path;
  };
  for (const Row& row :
       {Row{0, 1, 0, {1, "ok", "chipset", "internal"}},
        Row{2, 3, 10, {1, "gpu", "topology", "PIX"}},
        Row{4, 5, 20, {1, "disabled", "unsupported", "PXB"}},
        Row{6, 0, 30, {1, "unknown", "ok", "PHB"}}, Row{0, 0, 40, {1, "ok", "ok", "NODE"}},
        Row{0, 77, 50, {1, "ok", "unknown", "SYS"}}, Row{0, 0, 33, {1, "ok", "ok", "unknown"}}}) {
    MadeNvml nvml;
    nvml.gpus.resize(2);
    nvml.gpus[0].p2p_read = row.read;
    nvml.gpus[0].p2p_write = row.write;
    nvml.gpus[0].level = row.level;
    CHECK(gpu_from(nvml).paths == std::vector<Path>{row.path});
  }
}

TEST_CASE("a way that the driver does not know is told with nothing of it") {
  MadeNvml nvml;
  nvml.gpus.resize(2);
  nvml.missing = {"nvmlDeviceGetP2PStatus", "nvmlDeviceGetTopologyCommonAncestor"};
  CHECK(gpu_from(nvml).paths == std::vector<Path>{{1, "", "", ""}});
}

TEST_CASE("each GPU has a path to each other one, and none to itself") {
  MadeNvml nvml;
  nvml.gpus.resize(4);
  const Facts facts = facts_from(nvml);
  for (const Gpu& gpu : facts.gpus) {
    std::vector<int> to;
    for (const Path& path : gpu.paths) to.push_back(path.to);
    std::vector<int> others{0, 1, 2, 3};
    std::erase(others, gpu.index);
    CHECK(to == others);
  }
}

TEST_CASE("names that fill their buffer, and bytes that are no text, are told all the same") {
  MadeNvml nvml;
  nvml.gpus.front().uuid = std::string(500, 'u');
  nvml.gpus.front().name = "\xff\xfe";
  nvml.gpus.front().pci = std::string(500, 'p');
  const Gpu gpu = gpu_from(nvml);
  CHECK(gpu.uuid == std::string(96, 'u'));
  CHECK(gpu.name == "\uFFFD\uFFFD");
  CHECK(gpu.pci == std::string(32, 'p'));
}

}  // namespace
}  // namespace safelaunch::gpu
