#include "safelaunch/gpu/devices.h"

#include "catch.h"
#include "made_gpus.h"

namespace safelaunch::gpu {
namespace {

using testing::facts_of;
using testing::in_mig_mode;
using testing::made_gpu;
using Words = std::vector<std::string>;

const Facts kFour = facts_of({made_gpu(0), made_gpu(1), made_gpu(2), made_gpu(3)});

Words visible(const Facts& facts, const std::string& variable) {
  return usable_devices(facts, {{"CUDA_VISIBLE_DEVICES", variable}});
}

TEST_CASE("without the variable every GPU is a device") {
  CHECK(usable_devices(kFour, {}) == Words{"0", "1", "2", "3"});
  CHECK(usable_devices(facts_of({}), {}).empty());
}

TEST_CASE("CUDA_VISIBLE_DEVICES picks, orders, and ends at the first word that is no device here") {
  CHECK(visible(kFour, "3,1") == Words{"3", "1"});
  CHECK(visible(kFour, " 2 , GPU-00000001") == Words{"2", "GPU-00000001"});
  CHECK(visible(kFour, "0,7,1") == Words{"0"});
  CHECK(visible(kFour, "0,-1,1") == Words{"0"});
  CHECK(visible(kFour, "NoDevFiles").empty());
  CHECK(visible(kFour, "").empty());
  CHECK(visible(kFour, "GPU-0000").empty());  // four begin so
}

TEST_CASE("a GPU that is lost, or takes no process, is no device") {
  auto facts = kFour;
  facts.gpus[1].health = Health::lost;
  facts.gpus[2].compute_mode = ComputeMode::prohibited;
  CHECK(usable_devices(facts, {}) == Words{"0", "3"});
  CHECK(visible_devices(facts, {}) == Words{"0", "1", "2", "3"});
  CHECK(visible(facts, "1,3") == Words{"1", "3"});  // somebody wants it: CUDA will complain
}

TEST_CASE("of a host whose GPUs are all sliced, a process sees one slice") {
  const auto facts = facts_of({in_mig_mode(made_gpu(0), 2), in_mig_mode(made_gpu(1), 7)});
  CHECK(usable_devices(facts, {}) == Words{"MIG-00000000-0"});
  CHECK(visible(facts, "MIG-00000001-3,MIG-00000000-1") ==
        Words{"MIG-00000001-3", "MIG-00000000-1"});
  CHECK(visible(facts, "MIG-" + facts.gpus[1].uuid + "/1/0").size() == 1);
}

TEST_CASE("whole GPUs are taken before slices, and a sliced one without slices never") {
  const auto mixed = facts_of({in_mig_mode(made_gpu(0), 2), made_gpu(1)});
  CHECK(usable_devices(mixed, {}) == Words{"1"});
  CHECK(usable_devices(facts_of({in_mig_mode(made_gpu(0), 0)}), {}).empty());
}

TEST_CASE("a word leads to its GPU") {
  CHECK(gpu_of_device(kFour.gpus, "2") == &kFour.gpus[2]);
  CHECK(gpu_of_device(kFour.gpus, "GPU-00000003") == &kFour.gpus[3]);
  CHECK(gpu_of_device(kFour.gpus, "GPU-") == nullptr);
  CHECK(gpu_of_device(kFour.gpus, "2x") == nullptr);
}

TEST_CASE("a list of devices is read as CUDA reads it") {
  struct Row {
    const char* variable;
    Words devices;
  };
  for (const Row& row : {Row{",0", {}}, Row{"0,,1", {"0"}}, Row{"0,", {"0"}}, Row{" ", {}},
                         Row{"  3  ", {"3"}}, Row{"1 2", {}}, Row{"-1", {}}, Row{"4", {}},
                         Row{"0x1", {}}, Row{"99999999999", {}}, Row{"gpu-00000001", {}},
                         Row{"GPU-00000001-0000-4000-8000-000000000000,0",
                             {"GPU-00000001-0000-4000-8000-000000000000", "0"}},
                         Row{"GPU-00000001-9", {}}, Row{"MIG-00000000-0", {}}}) {
    INFO(row.variable);
    CHECK(visible(kFour, row.variable) == row.devices);
  }
}

TEST_CASE("the same list is seen whether its GPUs are well or not") {
  auto facts = kFour;
  for (Gpu& gpu : facts.gpus) gpu.health = Health::failing;
  const Environment all{{"CUDA_VISIBLE_DEVICES", "0,1,2,3"}};
  CHECK(visible_devices(facts, all) == Words{"0", "1", "2", "3"});
  CHECK(usable_devices(facts, all) == Words{"0", "1", "2", "3"});
  CHECK(usable_devices(facts, {}).empty());
}

TEST_CASE("which GPU is usable depends on its health, its mode and its slices") {
  for (const auto health : {Health::lost, Health::reset_required, Health::failing}) {
    Gpu gpu = made_gpu(0);
    gpu.health = health;
    CHECK_FALSE(is_usable(gpu));
  }
  for (const auto mode :
       {ComputeMode::shared, ComputeMode::exclusive_process, ComputeMode::unknown}) {
    Gpu gpu = made_gpu(0);
    gpu.compute_mode = mode;
    CHECK(is_usable(gpu));
  }
  CHECK(is_usable(in_mig_mode(made_gpu(0), 1)));
  CHECK_FALSE(is_usable(in_mig_mode(made_gpu(0), 0)));
}

TEST_CASE("of sliced GPUs the first that is usable gives its slice") {
  auto facts = facts_of({in_mig_mode(made_gpu(0), 2), in_mig_mode(made_gpu(1), 2)});
  facts.gpus[0].health = Health::lost;
  CHECK(usable_devices(facts, {}) == Words{"MIG-00000001-0"});
  facts.gpus[1].slices.clear();
  CHECK(usable_devices(facts, {}).empty());
}

TEST_CASE("GPUs whose names the driver did not tell are named by their numbers alone") {
  Facts facts = facts_of({made_gpu(0), made_gpu(1)});
  for (Gpu& gpu : facts.gpus) gpu.uuid.clear();
  CHECK(gpu_of_device(facts.gpus, "1") == &facts.gpus[1]);
  for (const char* word : {"GPU-", "GPU-0", "MIG-", "MIG-/1/0", ""})
    CHECK(gpu_of_device(facts.gpus, word) == nullptr);
}

TEST_CASE("a number is that of NVML, wherever the GPU stands in the list") {
  const auto facts = facts_of({made_gpu(2), made_gpu(0)});
  CHECK(gpu_of_device(facts.gpus, "0") == &facts.gpus[1]);
  CHECK(usable_devices(facts, {}) == Words{"2", "0"});
  CHECK(gpu_of_device({}, "0") == nullptr);
}

TEST_CASE("the beginning of a slice's name is enough where it is one slice's") {
  const auto facts = facts_of({in_mig_mode(made_gpu(0), 2), in_mig_mode(made_gpu(1), 2)});
  CHECK(gpu_of_device(facts.gpus, "MIG-00000001") == &facts.gpus[1]);
  CHECK(gpu_of_device(facts.gpus, "MIG-0000000") == nullptr);  // slices of both begin so
  CHECK(gpu_of_device(facts.gpus, "MIG-" + facts.gpus[0].uuid) == &facts.gpus[0]);
}

}  // namespace
}  // namespace safelaunch::gpu
