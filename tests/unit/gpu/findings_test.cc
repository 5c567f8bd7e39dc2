#include "safelaunch/gpu/findings.h"

#include "catch.h"
#include "made_gpus.h"
#include "safelaunch/gpu/devices.h"

namespace safelaunch::gpu {
namespace {

using testing::facts_of;
using testing::in_mig_mode;
using testing::made_gpu;
using testing::with_process;
using Devices = std::vector<std::string>;

/// The only finding there is to be.
Finding only_finding(const Facts& facts, const Use& use = {}) {
  const auto findings = gpu_findings(facts, use);
  REQUIRE(findings.size() == 1);
  CHECK_FALSE(findings[0].remedy.empty());
  return findings[0];
}

Gpu with_health(Health health) {
  Gpu gpu = made_gpu(0);
  gpu.health = health;
  gpu.trouble = "Unknown Error";
  return gpu;
}

Facts troubled(Trouble trouble) {
  Facts facts;
  facts.trouble = trouble;
  facts.why = "as NVML says";
  return facts;
}

TEST_CASE("healthy GPUs that nobody uses are no finding") {
  CHECK(gpu_findings(facts_of({made_gpu(0), made_gpu(1)}), {std::nullopt, 2, "13.0", {}}).empty());
}

TEST_CASE("a driver that cannot be asked is a finding of its own kind") {
  CHECK(only_finding(troubled(Trouble::no_driver)).cause == "no-gpu");
  CHECK(only_finding(troubled(Trouble::no_driver)).severity == Severity::note);
  CHECK(only_finding(troubled(Trouble::driver_mismatch)).cause == "driver-mismatch");
  CHECK(only_finding(troubled(Trouble::no_permission)).cause == "container-lost-gpus");
  CHECK(only_finding(troubled(Trouble::no_answer)).cause == "driver-silent");
  CHECK(only_finding(troubled(Trouble::no_answer)).evidence == "as NVML says");
  CHECK(only_finding(troubled(Trouble::crashed)).cause == "gpu-ill");
  CHECK(only_finding(troubled(Trouble::crashed)).severity == Severity::blocks);
  CHECK(only_finding(troubled(Trouble::failed)).cause == "cuda-unknown");
}

TEST_CASE("a lost GPU blocks, and is named") {
  const auto finding = only_finding(facts_of({with_health(Health::lost), made_gpu(1)}));
  CHECK(finding.cause == "gpu-ill");
  CHECK(finding.severity == Severity::blocks);
  CHECK(finding.evidence ==
        "GPU 0 (NVIDIA H100 80GB HBM3, 00000000:10:00.0) is lost: it has fallen off the bus");
}

TEST_CASE("a GPU that must be reset, or does not answer, blocks") {
  CHECK(only_finding(facts_of({with_health(Health::reset_required)})).severity == Severity::blocks);
  const auto failing = only_finding(facts_of({with_health(Health::failing)}));
  CHECK(failing.evidence.ends_with("does not answer: Unknown Error"));
}

TEST_CASE("a sick GPU that the job does not use is not its trouble") {
  const auto facts = facts_of({with_health(Health::lost), made_gpu(1)});
  CHECK(gpu_findings(facts, {Devices{"1"}, 1, "", {}}).empty());
  CHECK(gpu_findings(facts, {Devices{}, 1, "", {}}).empty());
  CHECK(gpu_findings(facts, {visible_devices(facts, {}), 1, "", {}}).size() == 1);
}

TEST_CASE("memory errors are one finding, the worst of them") {
  Gpu gpu = made_gpu(0);
  gpu.errors.uncorrected = 3;
  CHECK(only_finding(facts_of({gpu})).evidence.find("3 uncorrected") != std::string::npos);
  gpu.errors.repair_pending = true;
  gpu.recovery = "reset";
  CHECK(only_finding(facts_of({gpu})).evidence.find("waits for a reset") != std::string::npos);
  gpu.errors.repair_failed = true;
  CHECK(only_finding(facts_of({gpu})).evidence.find("no spare memory rows") != std::string::npos);
}

TEST_CASE("exclusive mode blocks more ranks than GPUs, and warns of several ranks") {
  Gpu gpu = made_gpu(0);
  gpu.compute_mode = ComputeMode::exclusive_process;
  CHECK(only_finding(facts_of({gpu}), {Devices{"0"}, 2, "", {}}).severity == Severity::blocks);
  CHECK(only_finding(facts_of({gpu, made_gpu(1)}), {Devices{"0", "1"}, 2, "", {}}).severity ==
        Severity::risk);
  CHECK(gpu_findings(facts_of({gpu}), {Devices{"0"}, 1, "", {}}).empty());
}

TEST_CASE("exclusive mode blocks where somebody is on the GPU, unless that is the job itself") {
  Gpu gpu = with_process(made_gpu(0), 71, 300);
  gpu.compute_mode = ComputeMode::exclusive_process;
  const auto finding = only_finding(facts_of({gpu}), {Devices{"0"}, 1, "", {}});
  CHECK(finding.cause == "gpu-exclusive");
  CHECK(finding.evidence.ends_with("takes one process, and pid 71 is on it"));
  CHECK(gpu_findings(facts_of({gpu}), {Devices{"0"}, 1, "", {71}}).empty());
}

TEST_CASE("MIG warns several ranks, and blocks without an instance") {
  CHECK(only_finding(facts_of({in_mig_mode(made_gpu(0), 2)}), {std::nullopt, 2, "", {}}).severity ==
        Severity::risk);
  CHECK(only_finding(facts_of({in_mig_mode(made_gpu(0), 2)}), {std::nullopt, 1, "", {}}).severity ==
        Severity::note);
  CHECK(only_finding(facts_of({in_mig_mode(made_gpu(0), 0)})).severity == Severity::blocks);
}

TEST_CASE("a fabric that is not up blocks, one in trouble warns, one that there is not is fine") {
  Gpu gpu = made_gpu(0);
  for (const auto state : {FabricState::not_started, FabricState::in_progress}) {
    gpu.fabric = state;
    CHECK(only_finding(facts_of({gpu, made_gpu(1)})).cause == "fabric-manager");
    CHECK(only_finding(facts_of({gpu, made_gpu(1)})).severity == Severity::blocks);
    CHECK(only_finding(facts_of({gpu})).severity == Severity::risk);  // passed through to a VM
  }
  gpu.fabric = FabricState::completed;
  gpu.fabric_trouble = "Unknown Error";
  CHECK(only_finding(facts_of({gpu})).severity == Severity::risk);
  gpu.fabric_trouble.clear();
  for (const auto state : {FabricState::unsupported, FabricState::unknown}) {
    gpu.fabric = state;
    CHECK(gpu_findings(facts_of({gpu}), {}).empty());
  }
}

TEST_CASE("a driver too old for the job's CUDA blocks; a newer minor version runs") {
  auto facts = facts_of({made_gpu(0)});
  facts.cuda = "12.4";
  const auto finding = only_finding(facts, {std::nullopt, 1, "13.0", {}});
  CHECK(finding.cause == "driver-old");
  CHECK(finding.evidence ==
        "driver 580.95.05 runs CUDA up to 12.4, and the job is built for CUDA 13.0");
  CHECK(gpu_findings(facts, {std::nullopt, 1, "12.9", {}}).empty());
  CHECK(gpu_findings(facts, {std::nullopt, 1, "", {}}).empty());
}

TEST_CASE("memory of others warns, and blocks where they hold it all") {
  const auto some = only_finding(facts_of({with_process(made_gpu(0), 71, 4096)}));
  CHECK(some.cause == "gpu-held");
  CHECK(some.severity == Severity::risk);
  CHECK(some.evidence ==
        "4096 of 81920 MiB of GPU 0 (NVIDIA H100 80GB HBM3, 00000000:10:00.0) are "
        "in use by pid 71 (4096 MiB)");
  CHECK(only_finding(facts_of({with_process(made_gpu(0), 71, 79'000)})).severity ==
        Severity::blocks);
}

TEST_CASE("a desktop's few MiB, and the job's own memory, are no finding") {
  CHECK(gpu_findings(facts_of({with_process(made_gpu(0), 71, 300)}), {}).empty());
  CHECK(gpu_findings(facts_of({with_process(made_gpu(0), 71, 40'000)}), {std::nullopt, 1, "", {71}})
            .empty());
}

TEST_CASE("memory that no listed process holds is said to be so: a container hides them") {
  Gpu gpu = made_gpu(0);
  gpu.used_mib = 30'000;
  CHECK(only_finding(facts_of({gpu})).evidence.ends_with("by processes that are not listed here"));
}

}  // namespace
}  // namespace safelaunch::gpu
