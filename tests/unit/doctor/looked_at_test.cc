#include "safelaunch/doctor/advice_text.h"

#include "catch.h"
#include "healthy_host.h"

using namespace safelaunch;
using namespace safelaunch::doctor;
using namespace safelaunch::testing;

namespace {

const LookedAt* theme_of(const std::vector<LookedAt>& themes, std::string_view name) {
  const auto found = std::ranges::find(themes, name, &LookedAt::name);
  return found == themes.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("a healthy host shows what was looked at, with versions", "[doctor][looked_at]") {
  const auto themes = looked_at(healthy_host(), {});
  for (const LookedAt& theme : themes) CHECK(theme.is_well);
  REQUIRE(theme_of(themes, "python") != nullptr);
  CHECK(theme_of(themes, "python")->seen == "torch 2.13.0+cu130, NCCL 2.29.7 (/venv/libnccl.so.2)");
  CHECK(theme_of(themes, "/dev/shm")->seen == "32.0 GiB, 30.0 GiB free");
  CHECK(theme_of(themes, "interfaces")->seen == "lo 127.0.0.1, docker0 172.17.0.1, eth0 10.0.0.5");
  CHECK(theme_of(themes, "world") == nullptr);
}

TEST_CASE("the clock's state is told, where the kernel was asked", "[doctor][looked_at]") {
  HostFacts facts = healthy_host();
  CHECK(theme_of(looked_at(facts, {}), "clock") == nullptr);
  facts.clock = host::ClockState{true, Duration{13}};
  CHECK(theme_of(looked_at(facts, {}), "clock")->seen ==
        "kept by a time service, at most 13ms off");
  facts.clock = host::ClockState{};
  CHECK(theme_of(looked_at(facts, {}), "clock")->seen ==
        "no time service keeps it; only jobs of several nodes need one");
}

TEST_CASE("a driver whose version no file tells is not named", "[doctor][looked_at]") {
  HostFacts facts = healthy_host();
  facts.libraries->driver = {{"/usr/lib/libcuda.so.1", gpu::LibraryOrigin::system, ""}};
  CHECK(theme_of(looked_at(facts, {}), "gpus")->seen == "2 GPUs");
  facts.libraries->driver.front().version = "580.95.05";
  CHECK(theme_of(looked_at(facts, {}), "gpus")->seen == "2 GPUs, driver 580.95.05");
}

TEST_CASE("the GPUs are told as libcuda and NVML tell them", "[doctor][looked_at]") {
  HostFacts facts = healthy_host();
  const auto seen = [&] { return theme_of(looked_at(facts, {}), "gpus")->seen; };
  facts.nvml.driver = "580.65.06";
  facts.nvml.gpus.resize(2);
  facts.visible_gpus = {gpu::Trouble::none, "", "13.0", {"NVIDIA H100", "NVIDIA H100"}};
  CHECK(seen() == "2 GPUs (NVIDIA H100), driver 580.65.06, CUDA 13.0");
  facts.visible_gpus.names.back() = "NVIDIA L4";
  CHECK(seen() == "2 GPUs, driver 580.65.06, CUDA 13.0");
  facts.visible_gpus.names = {"NVIDIA L4"};
  facts.gpus = 1;
  CHECK(seen() == "1 of 2 GPUs (NVIDIA L4), driver 580.65.06, CUDA 13.0");
}

TEST_CASE("a host without a visible GPU says why, where anything speaks for one",
          "[doctor][looked_at]") {
  HostFacts facts = healthy_host();
  const auto seen = [&] { return theme_of(looked_at(facts, {}), "gpus")->seen; };
  facts.gpus = 0;
  facts.visible_gpus = {gpu::Trouble::no_driver, "no CUDA driver", "", {}};
  CHECK(seen() == "no GPU here");
  facts.visible_gpus = {gpu::Trouble::none, "cuInit: CUDA_ERROR_NO_DEVICE", "", {}};
  CHECK(seen() == "no GPU here: cuInit: CUDA_ERROR_NO_DEVICE");
  facts.nvml.gpus.resize(2);
  facts.subject.environment["CUDA_VISIBLE_DEVICES"] = "-1";
  CHECK(seen() == "no GPU here: CUDA_VISIBLE_DEVICES=-1 hides all 2");
  facts.gpus = std::nullopt;
  facts.visible_gpus = {gpu::Trouble::no_answer, "the driver does not answer within 3s", "", {}};
  CHECK(seen() == "not counted: the driver does not answer within 3s");
}

TEST_CASE("GPUs are not well where their driver is silent", "[doctor][looked_at]") {
  Advice advice;
  advice.finding = {"driver-silent", Severity::blocks, "x", "y"};
  CHECK_FALSE(theme_of(looked_at(healthy_host(), std::vector{advice}), "gpus")->is_well);
}

TEST_CASE("a theme with a finding is not well", "[doctor][looked_at]") {
  Advice advice;
  advice.finding = {"shm-small", Severity::risk, "x", "y"};
  const std::vector<Advice> advices{advice};
  const auto themes = looked_at(healthy_host(), advices);
  CHECK_FALSE(theme_of(themes, "/dev/shm")->is_well);
  CHECK(theme_of(themes, "locks")->is_well);
}

TEST_CASE("the world of a rank is said to be right where nothing speaks against it",
          "[doctor][looked_at]") {
  HostFacts facts = healthy_host();
  facts.world.rank = 0;
  facts.world.size = 4;
  facts.world.master_address = "10.0.0.5";
  facts.world.master_port = 29500;
  facts.master_name = {host::NameLookup::Outcome::found, "10.0.0.5", {"10.0.0.5"}, {}, Duration{1}};
  CHECK(theme_of(looked_at(facts, examine(facts)), "world")->seen ==
        "RANK=0 of 4 at 10.0.0.5:29500 looks right");
  facts.master_name.addresses = {"10.0.0.9"};  // another host's, and rank 0 listens here
  const auto advices = examine(facts);
  CHECK(theme_of(looked_at(facts, advices), "world") == nullptr);
  REQUIRE(advices.size() == 1);
  CHECK(advices[0].finding.cause == "connect-failed");
}
