#include "safelaunch/run/sameness.h"

#include "catch.h"
#include "safelaunch/profile/library.h"

using namespace safelaunch;

namespace {

Profile built_in(const char* name) {
  return *ProfileLibrary::standard({}).load(name);
}

std::vector<StruckOut> struck_after_basic(const char* candidate, const Environment& environment,
                                          std::optional<NcclVersion> nccl) {
  RunPlan plan;
  plan.environment = environment;
  const Profile basic = built_in("basic");
  const Profile other = built_in(candidate);
  return same_as_tried(plan, std::vector{&basic}, std::vector{&other}, nccl);
}

}  // namespace

TEST_CASE("a profile that sets what this NCCL knows is another attempt", "[sameness]") {
  CHECK(struck_after_basic("cumem-host", {}, NcclVersion{2, 28, 9}).empty());
  CHECK(struck_after_basic("cumem-host", {}, std::nullopt).empty());
  CHECK(struck_after_basic("gloo-fallback", {}, NcclVersion{2, 18, 5}).empty());
}

TEST_CASE("a variable that the job's NCCL does not know makes no other attempt", "[sameness]") {
  const auto struck = struck_after_basic("cumem-host", {}, NcclVersion{2, 18, 5});
  REQUIRE(struck.size() == 1);
  CHECK(struck[0].why ==
        "would be basic again: NCCL 2.18.5 does not know NCCL_CUMEM_HOST_ENABLE (from 2.23 on)");
  CHECK(struck_after_basic("no-shm", {}, NcclVersion{2, 18, 5}).empty());  // it sets another, too
}

TEST_CASE("where the user's own value stays, the profile makes no other attempt", "[sameness]") {
  const auto struck =
      struck_after_basic("cumem-host", {{"NCCL_CUMEM_HOST_ENABLE", "0"}}, NcclVersion{2, 28, 9});
  REQUIRE(struck.size() == 1);
  CHECK(struck[0].why == "would be basic again: your NCCL_CUMEM_HOST_ENABLE=0 stays");
}
