#include "safelaunch/probe/tournament.h"

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;

using namespace safelaunch::probe;
using namespace std::chrono_literals;

namespace {

const profile::WallTime t0{std::chrono::seconds(1'700'000'000)};
const profile::HostKey kNode7{"node7", {"NVIDIA H100", "NVIDIA H100"}, "580.95", "2.29.7", ""};

ProbedProfile profile_working(std::string profile, double gb_per_s) {
  return {std::move(profile), Works{300, 2, gb_per_s}, ""};
}

MeasuredHost two_profiles() {
  return with_results(
      {}, kNode7, std::vector{profile_working("basic", 100), profile_working("no-p2p", 20)}, t0);
}

}  // namespace

TEST_CASE("what a fallback costs is told as it was measured") {
  const auto host = with_results(two_profiles(), kNode7,
                                 std::vector{profile_working("no-nvls", 95),
                                             ProbedProfile{"no-shm", Hung{Phase::init, {0}}, ""}},
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
  const auto host =
      with_results(two_profiles(), kNode7, std::vector{profile_working("basic", 90)}, later);
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

TEST_CASE("a measurement from the future is a clock that was wrong, and counts nowhere") {
  const auto host = two_profiles();
  CHECK_FALSE(measured_cost(host, kNode7, t0 - 1s, "basic", "no-p2p"));
  CHECK(with_results(host, kNode7, {}, t0 - 1s).bus_gb_per_s.empty());
  MeasuredHost oldest = host;
  oldest.when = profile::WallTime::min();
  CHECK_FALSE(measured_cost(oldest, kNode7, t0, "basic", "no-p2p"));
}

TEST_CASE("what was measured for a host without NCCL is not believed for one") {
  profile::HostKey none = kNode7;
  none.nccl.clear();
  const auto host = with_results({}, none, std::vector{profile_working("basic", 1)}, t0);
  CHECK_FALSE(measured_cost(host, none, t0, "basic", "basic"));
}

TEST_CASE("a cost is told from a quarter on") {
  const auto cost = [](double other) {
    const auto host = with_results(
        {}, kNode7, std::vector{profile_working("a", 100), profile_working("b", other)}, t0);
    return measured_cost(host, kNode7, t0, "a", "b").value_or("nothing");
  };
  CHECK(cost(80) == "none: as fast as a, as the probe has measured");
  CHECK(cost(79) == "all_reduce 1.3 times slower than with a, as the probe has measured");
  CHECK(cost(200) == "none: as fast as a, as the probe has measured");
  CHECK(cost(0) == "nothing");
}

TEST_CASE("only what was measured is kept, and the newest of a profile") {
  const auto host = with_results(
      two_profiles(), kNode7,
      std::vector{profile_working("basic", 90), ProbedProfile{"alone", Works{1, 1, {}}, ""},
                  ProbedProfile{"no-shm", Untold{"no"}, ""}},
      t0 + 1h);
  CHECK(host.when == t0 + 1h);
  CHECK(host.bus_gb_per_s ==
        std::map<std::string, double, std::less<>>{{"basic", 90}, {"no-p2p", 20}});
}

TEST_CASE("a file of measurements that lacks a field, or was cut, is none") {
  const std::string whole = format_measured(two_profiles());
  for (std::size_t size = 0; size + 2 < whole.size(); ++size)
    if (parse_measured(whole.substr(0, size))) FAIL(whole.substr(0, size));
  for (const char* key : {"host", "gpus", "driver", "nccl", "time", "bus_gb_per_s"}) {
    std::string without = whole;
    without.replace(without.find(key), 1, "X");
    CHECK_FALSE(parse_measured(without));
  }
}

TEST_CASE("a host's name that is no file's has no file") {
  const Environment environment{{"XDG_STATE_HOME", "/state"}};
  for (const char* name : {"", "a/b", "/"}) CHECK(measured_file(environment, name).empty());
}

TEST_CASE("measurements are kept in a file, and where there is none nothing is") {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "state/probed-node7.json";
  CHECK_FALSE(load_measured(path));
  REQUIRE(save_measured(path, two_profiles()).has_value());
  CHECK(load_measured(path) == two_profiles());
  CHECK(save_measured("", two_profiles()).has_value());
  CHECK_FALSE(load_measured(""));
  (void)folder.write("state/probed-node7.json", "nonsense");
  CHECK_FALSE(load_measured(path));
}
