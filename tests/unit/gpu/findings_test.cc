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

/// How a sentence on made_gpu(0) begins.
const std::string kTitle = "GPU 0 (NVIDIA H100 80GB HBM3, 00000000:10:00.0) ";

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

TEST_CASE("each trouble of the driver has its cause, its severity and its remedy") {
  struct Row {
    Trouble trouble;
    const char* cause;
    Severity severity;
    const char* remedy;
  };
  const char* const look =
      "nvidia-smi will hang as well; look at dmesg | grep -i xid, and reset the GPU or reboot";
  for (const Row& row : {Row{Trouble::no_driver, "no-gpu", Severity::note,
                             "run where a GPU is visible, or on the CPU with backend gloo"},
                         Row{Trouble::driver_mismatch, "driver-mismatch", Severity::blocks,
                             "reboot, or load the kernel module of the new version"},
                         Row{Trouble::no_permission, "container-lost-gpus", Severity::blocks,
                             "create the container again: it may no longer open its GPUs"},
                         Row{Trouble::no_answer, "driver-silent", Severity::blocks, look},
                         Row{Trouble::crashed, "gpu-ill", Severity::blocks, look},
                         Row{Trouble::failed, "cuda-unknown", Severity::risk, "nvidia-smi -q"}}) {
    const Finding finding = only_finding(troubled(row.trouble));
    CHECK(finding.cause == row.cause);
    CHECK(finding.severity == row.severity);
    CHECK(finding.evidence == "as NVML says");
    CHECK(finding.remedy == row.remedy);
  }
}

TEST_CASE("a driver that stopped answering is told beside the GPUs that it had told") {
  Facts facts = facts_of({with_health(Health::lost)});
  facts.trouble = Trouble::no_answer;
  facts.why = "the driver does not answer within 3s (asked for GPU 1)";
  const auto findings = gpu_findings(facts, {});
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].cause == "driver-silent");
  CHECK(findings[1].cause == "gpu-ill");
}

TEST_CASE("each state of a GPU's health is told in whole sentences") {
  const auto evidence = [](const Gpu& gpu) { return only_finding(facts_of({gpu})).evidence; };
  CHECK(evidence(with_health(Health::reset_required)) ==
        kTitle + "must be reset before it is used again");
  CHECK(evidence(with_health(Health::failing)) == kTitle + "does not answer: Unknown Error");
  Gpu silent = with_health(Health::failing);
  silent.trouble.clear();
  CHECK(evidence(silent) == kTitle + "does not answer");
  Gpu nameless;
  nameless.index = 3;
  nameless.health = Health::lost;
  CHECK(evidence(nameless) == "GPU 3 is lost: it has fallen off the bus");
  Gpu errors = made_gpu(0);
  errors.errors.uncorrected = 3;
  CHECK(evidence(errors) == kTitle + "had 3 uncorrected memory errors since the driver was loaded");
  errors.errors.uncorrected = 5'000'000'000;
  CHECK(evidence(errors).find("had 5000000000 uncorrected") != std::string::npos);
  errors.errors = {0, true, false};
  CHECK(evidence(errors) == kTitle + "waits for a reset to take bad memory out of use");
  errors.errors = {std::nullopt, false, true};
  CHECK(evidence(errors) == kTitle + "has no spare memory rows left for repairs");
  errors.errors = {0, false, false};
  CHECK(gpu_findings(facts_of({errors}), {}).empty());
}

TEST_CASE("what a driver advises is told, unless a pending repair says it already") {
  Gpu gpu = made_gpu(0);
  for (const char* advice : {"reset", "reboot", "drain", "unknown"}) {
    gpu.recovery = advice;
    const Finding finding = only_finding(facts_of({gpu}));
    CHECK(finding.severity == Severity::risk);
    CHECK(finding.evidence.ends_with("asks for recovery: " + std::string(advice)));
  }
  for (const char* none : {"", "none"}) {
    gpu.recovery = none;
    CHECK(gpu_findings(facts_of({gpu}), {}).empty());
  }
  gpu.recovery = "reboot";
  gpu.errors.repair_failed = true;
  CHECK(gpu_findings(facts_of({gpu}), {}).size() == 2);
}

TEST_CASE("of a GPU that is not well nothing else is judged") {
  for (const auto health : {Health::lost, Health::reset_required, Health::failing}) {
    Gpu gpu = in_mig_mode(with_process(with_health(health), 71, 80'000), 0);
    gpu.compute_mode = ComputeMode::prohibited;
    gpu.fabric = FabricState::not_started;
    gpu.errors.repair_failed = true;
    gpu.recovery = "reset";
    CHECK(only_finding(facts_of({gpu})).cause == "gpu-ill");
  }
}

TEST_CASE("several faults of one GPU are all told, in the order in which they are judged") {
  Gpu gpu = with_process(in_mig_mode(made_gpu(0), 0), 71, 80'000);
  gpu.errors.uncorrected = 1;
  gpu.compute_mode = ComputeMode::prohibited;
  gpu.fabric = FabricState::not_started;
  Facts facts = facts_of({gpu});
  facts.cuda = "11.8";
  std::vector<std::string> causes;
  for (const Finding& finding : gpu_findings(facts, {std::nullopt, 1, "13.0", {}}))
    causes.push_back(finding.cause);
  CHECK(causes == std::vector<std::string>{"driver-old", "gpu-ill", "gpu-exclusive", "mig",
                                           "fabric-manager", "gpu-held"});
}

TEST_CASE("exclusive mode is judged by ranks and the GPUs that the job has") {
  Gpu gpu = made_gpu(0);
  gpu.compute_mode = ComputeMode::exclusive_process;
  const Facts one = facts_of({gpu});
  const Facts two = facts_of({gpu, made_gpu(1)});
  const auto told = [](const Facts& facts, const Use& use) {
    const auto findings = gpu_findings(facts, use);
    return findings.empty() ? "" : findings.front().evidence.substr(kTitle.size());
  };
  const std::string risk =
      "takes one process: a second rank that touches it, as a wrong set_device does, fails";
  CHECK(told(one, {Devices{"0"}, 2, "", {}}) == "takes one process, and 2 ranks share 1 GPU");
  CHECK(told(two, {Devices{"0", "1"}, 3, "", {}}) == "takes one process, and 3 ranks share 2 GPUs");
  CHECK(told(two, {Devices{"0", "1"}, 2, "", {}}) == risk);
  // Without a list of devices every GPU of the host is the job's.
  CHECK(told(one, {std::nullopt, 2, "", {}}) == "takes one process, and 2 ranks share 1 GPU");
  CHECK(told(two, {std::nullopt, 2, "", {}}) == risk);
  CHECK(told(one, {std::nullopt, 1, "", {}}).empty());
  CHECK(told(one, {std::nullopt, 0, "", {}}).empty());
}

TEST_CASE("a prohibited GPU blocks whoever is on it, with the way to change that") {
  Gpu gpu = with_process(made_gpu(2), 71, 300);
  gpu.compute_mode = ComputeMode::prohibited;
  const Finding finding = only_finding(facts_of({gpu}));
  CHECK(finding.severity == Severity::blocks);
  CHECK(finding.evidence.ends_with("is in compute mode prohibited"));
  CHECK(finding.remedy == "nvidia-smi -i 2 -c DEFAULT, by the administrator");
}

TEST_CASE("a compute mode that is not known, or shared, is no finding") {
  Gpu gpu = made_gpu(0);
  for (const auto mode : {ComputeMode::unknown, ComputeMode::shared}) {
    gpu.compute_mode = mode;
    CHECK(gpu_findings(facts_of({gpu}), {Devices{"0"}, 8, "", {}}).empty());
  }
}

TEST_CASE("MIG mode tells how many instances there are") {
  const auto evidence = [](int slices) {
    return only_finding(facts_of({in_mig_mode(made_gpu(0), slices)}))
        .evidence.substr(kTitle.size());
  };
  CHECK(evidence(0) == "is in MIG mode and has no instance that a process could use");
  CHECK(evidence(1) ==
        "is in MIG mode: a process sees its one instance, and has neither P2P nor NVLink");
  CHECK(
      evidence(7) ==
      "is in MIG mode: a process sees one of its 7 instances, and there is neither P2P nor NVLink "
      "between them");
}

TEST_CASE("a job on a slice is judged by its GPU, named in any way that CUDA takes") {
  const Facts facts = facts_of({made_gpu(0), in_mig_mode(made_gpu(1), 2)});
  for (const std::string& device :
       {facts.gpus[1].slices[0].uuid, std::string("1"), "MIG-" + facts.gpus[1].uuid + "/1/0"})
    CHECK(gpu_findings(facts, {Devices{device}, 2, "", {}}).size() == 1);
  for (const char* device : {"0", "MIG-1", "GPU-", "7", ""})
    CHECK(gpu_findings(facts, {Devices{device}, 2, "", {}}).empty());
}

TEST_CASE("memory is worth a word from 512 MiB on, and blocks from nine tenths on") {
  const auto severity = [](int mib) -> std::optional<Severity> {
    Gpu gpu = made_gpu(0);
    gpu.used_mib = mib;
    const auto findings = gpu_findings(facts_of({gpu}), {});
    return findings.empty() ? std::nullopt : std::optional(findings.front().severity);
  };
  CHECK_FALSE(severity(511));
  CHECK(severity(512) == Severity::risk);
  CHECK(severity(73'728) == Severity::risk);  // 81920 / 10 * 9
  CHECK(severity(73'729) == Severity::blocks);
}

TEST_CASE("versions of CUDA are compared by their first number alone") {
  const auto blocks = [](const char* driver, const char* job) {
    Facts facts = facts_of({made_gpu(0)});
    facts.cuda = driver;
    return !gpu_findings(facts, {std::nullopt, 1, job, {}}).empty();
  };
  CHECK(blocks("12.9", "13.0"));
  CHECK(blocks("9.2", "10.0"));
  CHECK_FALSE(blocks("13.0", "12.9"));
  CHECK_FALSE(blocks("13.0", "13.2"));
  CHECK_FALSE(blocks("", "13.0"));
  CHECK_FALSE(blocks("12.4", "cpu"));
}

TEST_CASE("a driver that is too old is told though no GPU is in use, with both ways out") {
  Facts facts = facts_of({made_gpu(0)});
  facts.cuda = "12.4";
  CHECK(only_finding(facts, {Devices{}, 1, "13.0", {}}).remedy ==
        "update the driver, or install a build for CUDA 12");
}

TEST_CASE("a fabric that is not up is told with the GPU, and the trouble of one that is in words") {
  Gpu gpu = made_gpu(0);
  gpu.fabric = FabricState::not_started;
  gpu.fabric_trouble = "not told twice";
  const Finding down = only_finding(facts_of({gpu, made_gpu(1)}));
  CHECK(down.evidence.substr(kTitle.size()) ==
        "is not registered with the NVLink fabric (CUDA error 802)");
  CHECK(down.remedy == "systemctl start nvidia-fabricmanager, of exactly the driver's version");
  gpu.fabric = FabricState::completed;
  gpu.fabric_trouble = "a route of the fabric is unhealthy";
  CHECK(only_finding(facts_of({gpu})).evidence ==
        "the NVLink fabric of GPU 0 (NVIDIA H100 80GB HBM3, 00000000:10:00.0): a route of the "
        "fabric is unhealthy");
}

}  // namespace
}  // namespace safelaunch::gpu
