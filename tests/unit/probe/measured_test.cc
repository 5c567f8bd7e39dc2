#include "safelaunch/probe/tournament.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::probe;
using namespace std::chrono_literals;

namespace {

const profile::WallTime t0{std::chrono::seconds(1'700'000'000)};
const profile::HostKey kNode7{"node7", {"NVIDIA H100", "NVIDIA H100"}, "580.95", "2.29.7", ""};

ProbedProfile working(std::string profile, double gb_per_s) {
  return {std::move(profile), Works{300, 2, gb_per_s}, ""};
}

MeasuredHost two_profiles() {
  return with_results({}, kNode7, std::vector{working("basic", 100), working("no-p2p", 20)}, t0);
}

}  // namespace

TEST_CASE("what a fallback costs is told as it was measured") {
  const auto host = with_results(
      two_profiles(), kNode7,
      std::vector{working("no-nvls", 95), ProbedProfile{"no-shm", Hung{Phase::init, {0}}, ""}},
      t0 + 1h);
  CHECK(measured_cost(host, kNode7, t0 + 2h, "basic", "no-p2p") ==
        "all_reduce 5.0 times slower than with basic, as the probe has measured");
  CHECK(measured_cost(host, kNode7, t0 + 2h, "basic", "no-nvls") ==
        "none: as fast as basic, as the probe has measured");
  CHECK_FALSE(measured_cost(host, kNode7, t0 + 2h, "basic", "no-shm"));
  CHECK_FALSE(measured_cost(host, kNode7, t0 + 2h, "basic", "loopback"));
}

TEST_CASE("a measurement counts on its host alone, whatever the Python, and for a week") {
  const auto host = two_profiles();
  profile::HostKey other = kNode7;
  SECTION("another Python") {
    other.python = "/opt/conda/bin/python";
    CHECK(measured_cost(host, other, t0, "basic", "no-p2p"));
  }
  SECTION("another driver") {
    other.driver = "570.1";
    CHECK_FALSE(measured_cost(host, other, t0, "basic", "no-p2p"));
  }
  SECTION("another NCCL, or none") {
    for (const char* version : {"2.28.9", ""}) {
      other.nccl = version;
      CHECK_FALSE(measured_cost(host, other, t0, "basic", "no-p2p"));
    }
  }
  SECTION("a week later") {
    CHECK(measured_cost(host, other, t0 + std::chrono::days(7), "basic", "no-p2p"));
    CHECK_FALSE(measured_cost(host, other, t0 + std::chrono::days(7) + 1s, "basic", "no-p2p"));
  }
}

TEST_CASE("what was measured on another host or long ago does not stay") {
  const auto later = t0 + std::chrono::days(8);
  const auto host = with_results(two_profiles(), kNode7, std::vector{working("basic", 90)}, later);
  CHECK(host.bus_gb_per_s.size() == 1);
}

TEST_CASE("measurements are read back as they were written, and nothing else is") {
  const auto host = two_profiles();
  CHECK(parse_measured(format_measured(host)) == host);
  for (const char* text :
       {"", "[]", "{}", "null", R"({"host":7})",
        R"({"host":"a","gpus":[],"driver":"","time":1,"bus_gb_per_s":{"b":"x"}})"})
    CHECK_FALSE(parse_measured(text));
}

TEST_CASE("each host has a file of its own") {
  const Environment environment{{"XDG_STATE_HOME", "/state"}};
  CHECK(measured_file(environment, "node7") == "/state/safelaunch/probed-node7.json");
  CHECK(measured_file(environment, "../x").empty());
  CHECK(measured_file({}, "node7").empty());
}
