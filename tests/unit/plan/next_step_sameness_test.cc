#include "safelaunch/plan/next_step.h"

#include "catch.h"
#include "safelaunch/profile/library.h"

using namespace safelaunch;

using namespace safelaunch::plan;

namespace {

profile::Profile built_in(const char* name) {
  return *profile::ProfileLibrary::standard({}).load(name);
}

std::vector<profile::StruckOut> struck_after_basic(const char* candidate,
                                                   const Environment& environment,
                                                   std::optional<nccl::Version> nccl) {
  RunPlan plan;
  plan.environment = environment;
  const profile::Profile basic = built_in("basic");
  const profile::Profile other = built_in(candidate);
  return same_as_tried(plan, std::vector{&basic}, std::vector{&other}, {.nccl = nccl});
}

// Those of the default chain that would be basic again for a job of which so much was seen.
std::vector<std::string> struck_for(const SeenOfJob& seen, std::vector<std::string> named = {}) {
  RunPlan plan;
  plan.options.profiles = named;
  plan.chain_names = named;
  const profile::Profile basic = built_in("basic");
  const std::vector<profile::Profile> others = {built_in("conservative"), built_in("no-shm"),
                                                built_in("gloo-fallback")};
  std::vector<std::string> names;
  for (const profile::StruckOut& one : same_as_tried(
           plan, std::vector{&basic}, std::vector{&others[0], &others[1], &others[2]}, seen))
    names.push_back(one.name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a profile that sets what this NCCL knows is another attempt", "[sameness]") {
  CHECK(struck_after_basic("cumem-host", {}, nccl::Version{2, 28, 9}).empty());
  CHECK(struck_after_basic("cumem-host", {}, std::nullopt).empty());
  CHECK(struck_after_basic("gloo-fallback", {}, nccl::Version{2, 18, 5}).empty());
}

TEST_CASE("before a rank communicates no setting of communication makes another attempt",
          "[sameness]") {
  CHECK(struck_for({.backends = {}}).empty());
  CHECK(struck_for({.backends = {}, .came = false}) ==
        Names{"conservative", "no-shm", "gloo-fallback"});
}

TEST_CASE("a variable that the job's NCCL does not know makes no other attempt", "[sameness]") {
  const auto struck = struck_after_basic("cumem-host", {}, nccl::Version{2, 18, 5});
  REQUIRE(struck.size() == 1);
  CHECK(struck[0].why ==
        "the same as basic here: NCCL 2.18.5 does not know NCCL_CUMEM_HOST_ENABLE (from 2.23 on)");
  CHECK(struck_after_basic("no-shm", {}, nccl::Version{2, 18, 5}).empty());  // it sets another, too
}

TEST_CASE("where the user's own value stays, the profile makes no other attempt", "[sameness]") {
  const auto struck =
      struck_after_basic("cumem-host", {{"NCCL_CUMEM_HOST_ENABLE", "0"}}, nccl::Version{2, 28, 9});
  REQUIRE(struck.size() == 1);
  CHECK(struck[0].why == "the same as basic here: your NCCL_CUMEM_HOST_ENABLE=0 stays");
}

TEST_CASE("for a job on gloo neither variables of NCCL nor gloo change anything", "[sameness]") {
  const Names all = {"conservative", "no-shm", "gloo-fallback"};
  CHECK(struck_for({.backends = {"gloo"}, .gpu = true}) == all);
  CHECK(struck_for({.backends = {"gloo"}, .gpu = false}) == all);
  CHECK(struck_for({.backends = {"cpu:gloo,cuda:gloo"}}) == all);
  CHECK(struck_for({.backends = {""}, .gpu = false}) == all);  // torch's own choice
  for (const char* backend : {"hccl", "xccl", "mccl", "cncl", "cpu:gloo,npu:hccl"})
    CHECK(struck_for({.backends = {backend}}) == all);
}

TEST_CASE("without a GPU only gloo may change anything for a job that asks for NCCL",
          "[sameness]") {
  const Names of_nccl = {"conservative", "no-shm"};
  CHECK(struck_for({.backends = {"nccl"}, .gpu = false}) == of_nccl);
  CHECK(struck_for({.backends = {"gloo", "cpu:gloo,cuda:nccl"}, .gpu = false}) == of_nccl);
  CHECK(struck_for({.gpu = false}) == of_nccl);  // nobody came to init: it may ask for NCCL
}

TEST_CASE("where NCCL is, or may be, its variables count", "[sameness]") {
  CHECK(struck_for({.backends = {"nccl"}}).empty());
  CHECK(struck_for({}).empty());
  CHECK(struck_for({.backends = {"ucc"}}) == Names{"gloo-fallback"});  // may use NCCL below
  const nccl::Version version{2, 28, 9};  // it has spoken: a GPU that nobody saw, or another door
  CHECK(struck_for({.nccl = version, .backends = {"gloo"}, .gpu = false}) ==
        Names{"gloo-fallback"});
  CHECK(struck_for({.nccl_spoke = true, .gpu = false}).empty());  // its version stays unsaid
  CHECK(struck_for({.backends = {"jax"}}) == Names{"gloo-fallback"});
}

TEST_CASE("a profile that the user names is tried though it seems to change nothing",
          "[sameness]") {
  CHECK(struck_for({.backends = {"gloo"}, .gpu = false}, {"basic", "no-shm"}) ==
        Names{"conservative", "gloo-fallback"});
}

namespace {

// Whether a profile that differs from a tried one so is struck out: where the chain came by itself,
// and where the user named it.
std::pair<bool, bool> struck_when(void (*change)(profile::Profile&)) {
  profile::Profile tried;
  tried.name = "tried";
  profile::Profile other = tried;
  other.name = "other";
  change(other);
  const auto struck = [&](std::vector<std::string> named) {
    RunPlan plan;
    plan.options.profiles = named;
    plan.chain_names = named;
    return !same_as_tried(plan, std::vector<const profile::Profile*>{&tried},
                          std::vector<const profile::Profile*>{&other}, {})
                .empty();
  };
  return {struck({}), struck({"tried", "other"})};
}

}  // namespace

TEST_CASE("each key by which a profile makes another attempt, and those that only show more",
          "[sameness]") {
  using profile::Profile;
  constexpr std::pair kAnother{false, false};
  constexpr std::pair kForAPerson{true, false};
  constexpr std::pair kCopy{true, true};
  CHECK(struck_when([](Profile&) {}) == kCopy);
  CHECK(struck_when([](Profile& p) { p.description = "d"; }) == kCopy);
  CHECK(struck_when([](Profile& p) { p.heals = {"x"}; }) == kCopy);
  CHECK(struck_when([](Profile& p) { p.worsens = {"x"}; }) == kCopy);
  CHECK(struck_when([](Profile& p) { p.cost = profile::Cost::large; }) == kCopy);
  CHECK(struck_when([](Profile& p) { p.nodes = profile::Nodes::one; }) == kCopy);
  CHECK(struck_when([](Profile& p) { p.unset = {"A"}; }) == kCopy);  // it is not set here
  CHECK(struck_when([](Profile& p) { p.force_all = true; }) == kCopy);
  CHECK(struck_when([](Profile& p) { p.ras = profile::Ras::ask; }) == kForAPerson);
  CHECK(struck_when([](Profile& p) { p.faulthandler = true; }) == kForAPerson);
  CHECK(struck_when([](Profile& p) { p.on_stall = profile::OnStall::kill; }) == kForAPerson);
  CHECK(struck_when([](Profile& p) { p.retry = profile::Retry{}; }) == kForAPerson);
  CHECK(struck_when([](Profile& p) { p.env["A"] = {"1", {}}; }) == kAnother);
  CHECK(struck_when([](Profile& p) { p.env["NCCL_ALGO"] = {"Ring", {}}; }) == kAnother);
  CHECK(struck_when([](Profile& p) { p.backend = profile::Backend::gloo; }) == kAnother);
  CHECK(struck_when([](Profile& p) { p.verify = profile::Verify::inject; }) == kAnother);
  CHECK(struck_when([](Profile& p) { p.args.append = {"-x"}; }) == kAnother);
  CHECK(struck_when([](Profile& p) { p.processes = 1; }) == kAnother);
  CHECK(struck_when([](Profile& p) { p.process_group_timeout = Duration(1); }) == kAnother);
  CHECK(struck_when([](Profile& p) { p.timeouts.init = Duration(1); }) == kAnother);
  CHECK(struck_when([](Profile& p) { p.options["grace"] = {"5s", ""}; }) == kAnother);
}

TEST_CASE("a profile is never the same as itself, and nothing is struck out untried",
          "[sameness]") {
  const profile::Profile basic = built_in("basic");
  CHECK(same_as_tried({}, std::vector{&basic}, std::vector{&basic}, {}).empty());
  CHECK(same_as_tried({}, {}, std::vector{&basic}, {}).empty());
  CHECK(same_as_tried({}, std::vector{&basic}, {}, {}).empty());
}
