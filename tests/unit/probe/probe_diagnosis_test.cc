#include "safelaunch/probe/probe_diagnosis.h"

#include "catch.h"
#include "safelaunch/base/cause_ids.h"

using namespace safelaunch;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string kShmSmall =
    "NCCL WARN Error: failed to extend /dev/shm/nccl-aB1cD2 to 33030532 bytes\n";

}  // namespace

TEST_CASE("what NCCL wrote in a probe shows the cause", "[probe_diagnosis]") {
  probe::Outcome outcome{probe::Hung{}, kShmSmall};
  CHECK(probe::cause_of(outcome) == cause::kShmSmall);
  const auto diagnosis = probe::diagnosis_of(outcome);
  CHECK(diagnosis.failure.certainty == Certainty::matched);
  CHECK(std::holds_alternative<diagnose::FallBack>(diagnosis.decision));
  CHECK_THAT(diagnosis.failure.explanation, ContainsSubstring("a probe under the same profile"));
}

TEST_CASE("the words of a probe's rank show it too", "[probe_diagnosis]") {
  probe::Failed failed;
  failed.failures = {{.rank = 1, .phase = {}, .words = kShmSmall}};
  CHECK(probe::cause_of({failed, ""}) == cause::kShmSmall);
}

TEST_CASE("a probe that shows nothing is a guess that another profile may do better",
          "[probe_diagnosis]") {
  const probe::Outcome outcome{probe::Hung{}, ""};
  CHECK(probe::cause_of(outcome).empty());
  const auto diagnosis = probe::diagnosis_of(outcome);
  CHECK(diagnosis.failure.cause == cause::kCommError);
  CHECK(diagnosis.failure.certainty == Certainty::guess);
  CHECK(std::holds_alternative<diagnose::FallBack>(diagnosis.decision));
}

TEST_CASE("the diagnosis of a probe says where it stopped, and why", "[probe_diagnosis]") {
  probe::Failed failed;
  failed.failures = {{.rank = 1, .phase = probe::Phase::init, .words = "boom"}};
  const auto told = probe::diagnosis_of({failed, ""}).failure.explanation;
  CHECK(told.starts_with(std::string("a probe under the same profile stopped at ") +
                         std::string(name(probe::Phase::init)) + ": "));
  CHECK_THAT(told, ContainsSubstring("boom"));
  CHECK_THAT(probe::diagnosis_of({probe::Untold{"no GPU is free"}, ""}).failure.explanation,
             ContainsSubstring("stopped at its start") && ContainsSubstring("no GPU is free"));
}

TEST_CASE("a cause that every profile meets ends the chain, as it would a job's",
          "[probe_diagnosis]") {
  const std::string twice = "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 4000\n";
  const std::string driver = "CUDA driver version is insufficient for CUDA runtime version\n";
  for (const std::string& log : {twice, driver}) {
    const auto diagnosis = probe::diagnosis_of({probe::Hung{}, log});
    INFO(diagnosis.failure.cause);
    const auto* stop = std::get_if<diagnose::Stop>(&diagnosis.decision);
    REQUIRE(stop != nullptr);
    CHECK(stop->reason == diagnose::StopReason::hopeless);
    CHECK(diagnosis.failure.title == diagnose::catalogue().at(diagnosis.failure.cause).title);
  }
}
