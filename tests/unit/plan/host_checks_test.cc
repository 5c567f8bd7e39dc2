#include "safelaunch/plan/host_checks.h"

#include <boost/asio/io_context.hpp>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::plan;

namespace {

/// A plan whose environment names a network interface that no host has. It cleans nothing.
RunPlan plan_with_a_mistake() {
  settings::RunOptions options;
  options.command = {"torchrun", "--nproc-per-node=2", "train.py"};
  options.clean = settings::CleanPolicy::off;
  const Environment environment{{"HOME", "/proc/nonexistent"},
                                {"GLOO_SOCKET_IFNAME", "no-such-if0"}};
  return make_plan(options, {}, environment).value();
}

bool names_the_mistake(const std::vector<Finding>& findings) {
  return std::ranges::any_of(findings, [](const Finding& finding) {
    return finding.evidence.find("no-such-if0") != std::string::npos;
  });
}

}  // namespace

TEST_CASE("the doctor looks at the environment that the first attempt will have", "[host_checks]") {
  CHECK(names_the_mistake(examine_host(plan_with_a_mistake())));
}

TEST_CASE("where nothing may be cleaned, nothing is told of it", "[host_checks]") {
  CHECK(clean_before_run(plan_with_a_mistake()).empty());
}

TEST_CASE("the checks tell their findings once, from a process of their own", "[host_checks]") {
  boost::asio::io_context io;
  std::vector<HostReport> told;
  const HostChecks checks(io, plan_with_a_mistake(), std::chrono::minutes(2),
                          [&](HostReport report) { told.push_back(std::move(report)); });
  io.run();

  REQUIRE(told.size() == 1);
  CHECK(told.front().trouble.empty());
  CHECK(names_the_mistake(told.front().findings));
}

TEST_CASE("checks that are given up tell nothing", "[host_checks]") {
  boost::asio::io_context io;
  int told = 0;
  {
    const HostChecks checks(io, plan_with_a_mistake(), std::chrono::minutes(2),
                            [&](const HostReport&) { ++told; });
  }
  io.run();
  CHECK(told == 0);
}
