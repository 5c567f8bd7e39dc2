#include "safelaunch/plan/next_step.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::plan;

namespace {

SeenOfJob asked_for(std::set<std::string> backends, bool gpu = true) {
  SeenOfJob seen;
  seen.backends = std::move(backends);
  seen.gpu = gpu;
  return seen;
}

}  // namespace

TEST_CASE("a job may use NCCL until it has shown that it does not", "[seen_of_job]") {
  CHECK(may_use_nccl(asked_for({})));
  CHECK(may_use_nccl(asked_for({"nccl"})));
  CHECK(may_use_nccl(asked_for({"cpu:gloo,cuda:nccl"})));
  CHECK(may_use_nccl(asked_for({"ucc"})));  // may use NCCL below
  CHECK(may_use_nccl(asked_for({""})));     // torch's own choice
  CHECK_FALSE(may_use_nccl(asked_for({"gloo"})));
  CHECK_FALSE(may_use_nccl(asked_for({"mpi"})));
  CHECK_FALSE(may_use_nccl(asked_for({"cpu:gloo,cuda:gloo"})));
  CHECK(may_use_nccl(asked_for({"gloo", "nccl"})));
}

TEST_CASE("where NCCL has spoken the host's GPUs do not matter", "[seen_of_job]") {
  SeenOfJob seen = asked_for({"gloo"}, false);
  CHECK_FALSE(may_use_nccl(seen));
  seen.nccl_spoke = true;
  CHECK(may_use_nccl(seen));
}

TEST_CASE("gloo takes nobody's place where no rank came so far", "[seen_of_job]") {
  SeenOfJob seen = asked_for({});
  seen.came = false;
  CHECK_FALSE(may_change_to_gloo(seen));
}

TEST_CASE("gloo takes nobody's place where no hook is in a rank", "[seen_of_job]") {
  SeenOfJob seen = asked_for({});
  seen.hooked = false;  // as behind `env -i`
  CHECK_FALSE(may_change_to_gloo(seen));
}

TEST_CASE("gloo can take the place of NCCL alone", "[seen_of_job]") {
  CHECK(may_change_to_gloo(asked_for({})));
  CHECK(may_change_to_gloo(asked_for({"nccl"})));
  CHECK_FALSE(may_change_to_gloo(asked_for({"gloo"})));
  CHECK_FALSE(may_change_to_gloo(asked_for({"jax"})));
  CHECK(may_change_to_gloo(asked_for({""})));
  CHECK_FALSE(may_change_to_gloo(asked_for({""}, false)));  // it is gloo already
}
