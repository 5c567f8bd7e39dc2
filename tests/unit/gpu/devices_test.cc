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

}  // namespace
}  // namespace safelaunch::gpu
