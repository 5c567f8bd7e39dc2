#include "catch.h"
#include "launcher/run/run_probe.h"

using namespace safelaunch;
using namespace safelaunch::plan;
using namespace safelaunch::run;

namespace {

/// Why a job that --probe always wants probed is not.
std::string refusal(RunPlan plan, const profile::Profile& profile = {}) {
  plan.options.probe = settings::WhenToProbe::always;
  const auto means = means_to_probe(plan, profile, 2, probe::Moment::after_a_failure);
  REQUIRE(means.has_error());
  return means.error().message;
}

RunPlan with_ranks(job::ProcessCount ranks) {
  RunPlan plan;
  plan.command.processes_per_node = ranks;
  return plan;
}

}  // namespace

TEST_CASE("a job whose ranks nobody can count is not probed", "[probe_means]") {
  CHECK(refusal({}) == "how many ranks come is not known");
  CHECK(refusal(with_ranks(job::CountWord::cpu)) == "how many ranks come is not known");
}

TEST_CASE("a job that chooses its GPUs by itself is not probed", "[probe_means]") {
  const std::string word =
      GENERATE("--include=localhost:0,1", "--exclude", "--gpu_ids=all", "--gpu-ids");
  RunPlan plan = with_ranks(2);
  plan.command.argv = {"deepspeed", word, "train.py"};
  CHECK(refusal(plan) == "the command chooses its GPUs by itself");
}

TEST_CASE("a profile that does without NCCL is not probed", "[probe_means]") {
  profile::Profile gloo;
  gloo.backend = profile::Backend::gloo;
  CHECK(refusal(with_ranks(2), gloo) == "the profile does without NCCL");
}

TEST_CASE("the ranks of our own spawn are counted by its workers", "[probe_means]") {
  RunPlan plan = with_ranks(job::CountWord::cpu);
  plan.spawn.emplace().workers = 2;
  profile::Profile gloo;
  gloo.backend = profile::Backend::gloo;
  CHECK(refusal(plan, gloo) == "the profile does without NCCL");  // its ranks are known
}

TEST_CASE("a profile's own option decides whether it is probed", "[probe_means]") {
  RunPlan plan = with_ranks(2);
  profile::Profile never;
  never.options["probe"] = {"never", "mine.yaml:1:1"};
  const auto means = means_to_probe(plan, never, 2, probe::Moment::after_a_failure);
  REQUIRE(means.has_error());
  CHECK(means.error().message == "--probe never");
}
