#include "cluster_of_ways.h"
#include "safelaunch/base/cause_ids.h"

using namespace safelaunch;
using namespace safelaunch::nodes;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

TEST_CASE("a way that is much slower than the others is named", "[mesh]") {
  Cluster cluster(4);
  const auto slow_down = [&](int from, int to, std::chrono::microseconds time) {
    cluster.each([&](int asker, Way& way) {
      if (asker == from && way.seat == to) way.round_trip = time;
    });
  };
  slow_down(1, 3, 31ms);
  SECTION("a slow packet in one direction alone says nothing") {
    CHECK(cluster.findings().empty());
  }
  slow_down(3, 1, 30ms);
  SECTION("it is the fastest packet of both directions that counts") {
    const Finding finding = cluster.only_finding();
    CHECK(finding.cause == cause::kSlowWay);
    CHECK(finding.evidence ==
          "a packet from gpu-1 to gpu-3 and back takes 30.0ms, between other nodes 0.2ms");
  }
  SECTION("all ways may be slow") {
    cluster.each([](int, Way& way) { way.round_trip = 20ms; });
    CHECK(cluster.findings().empty());
  }
  SECTION("a few milliseconds are not slow") {
    cluster.each([](int, Way& way) {
      way.round_trip = std::min<std::chrono::microseconds>(way.round_trip, 4ms);
    });
    CHECK(cluster.findings().empty());
  }
}

TEST_CASE("two nodes far from each other are no finding: there is nothing to compare", "[mesh]") {
  Cluster cluster(2);
  cluster.each([](int, Way& way) { way.round_trip = 200ms; });
  CHECK(cluster.findings().empty());
}

TEST_CASE("a clock that is off by more than a second is named", "[mesh]") {
  for (const int nodes : {3, 100}) {
    Cluster cluster(nodes);
    cluster.set_clock(2, -3'200ms);
    const Finding finding = cluster.only_finding();
    CHECK(finding.cause == cause::kClockSkew);
    CHECK_THAT(finding.evidence, ContainsSubstring("gpu-2's is 3.2s behind"));
  }
}

TEST_CASE("of two clocks one is told by the other", "[mesh]") {
  Cluster cluster(2);
  cluster.set_clock(0, 20s);
  CHECK(cluster.only_finding().evidence == "the clocks differ from gpu-1's: gpu-0's is 20s ahead");
}

TEST_CASE("node 0's clock may be the wrong one", "[mesh]") {
  Cluster cluster(4);
  cluster.set_clock(0, 1h);
  const std::string evidence = cluster.only_finding().evidence;
  CHECK_THAT(evidence, ContainsSubstring("gpu-0's is "));
  CHECK(evidence.find("gpu-3's is") == std::string::npos);
}

TEST_CASE("what a slow answer leaves open is no difference of clocks", "[mesh]") {
  Cluster cluster(2);
  cluster.set_clock(1, 1'500ms);
  cluster.each([](int, Way& way) { way.error = 600ms; });
  CHECK(cluster.findings().empty());
}

TEST_CASE("of several slow ways the slowest is named, and the others are counted", "[mesh]") {
  Cluster cluster(6);
  cluster.each([](int from, Way& way) {
    const auto pair = std::minmax(from, way.seat);
    if (pair == std::minmax(0, 1)) way.round_trip = 40ms;
    if (pair == std::minmax(2, 3)) way.round_trip = 2'500ms;
  });
  CHECK(cluster.only_finding().evidence ==
        "a packet from gpu-2 to gpu-3 and back takes 2.5s, between other nodes 0.2ms; 2 ways are "
        "as slow");
}

TEST_CASE("a way is slow from five milliseconds on, and from ten times the others' on", "[mesh]") {
  const auto is_told = [](std::chrono::microseconds slow, std::chrono::microseconds usual) {
    Cluster cluster(4);
    cluster.each([&](int from, Way& way) {
      way.round_trip = std::minmax(from, way.seat) == std::minmax(1, 3) ? slow : usual;
    });
    return !cluster.findings().empty();
  };
  CHECK(is_told(5'000us, 500us));
  CHECK_FALSE(is_told(4'999us, 100us));
  CHECK_FALSE(is_told(5'000us, 501us));
}

TEST_CASE("a way on an interface that the job does not use may be slow", "[mesh]") {
  Cluster cluster(4);
  for (auto& [seat, node] : cluster.mesh) node.doors.meets.clear();
  cluster.each([](int from, Way& way) {
    if (way.interface == "eth0" && from == 1 && way.seat == 3) way.round_trip = 90ms;
    if (way.interface == "eth0" && from == 3 && way.seat == 1) way.round_trip = 90ms;
  });
  CHECK(cluster.findings().empty());
}

TEST_CASE("clocks differ by more than a second, beyond the error of their comparison", "[mesh]") {
  const auto is_told = [](std::chrono::microseconds ahead, std::chrono::microseconds error) {
    Cluster cluster(3);
    cluster.set_clock(2, ahead);
    cluster.each([&](int, Way& way) { way.error = error; });
    return !cluster.findings().empty();
  };
  CHECK_FALSE(is_told(1s, 0us));
  CHECK(is_told(1'000'001us, 0us));
  CHECK(is_told(-1'000'001us, 0us));
  CHECK_FALSE(is_told(1'100ms, 200ms));
}

TEST_CASE("of many clocks that are wrong four are named, and the rest is counted", "[mesh]") {
  Cluster cluster(15);
  for (int seat = 9; seat < 15; ++seat) cluster.set_clock(seat, 1h);
  const Finding finding = cluster.only_finding();
  CHECK_THAT(finding.evidence, ContainsSubstring("gpu-12's is 1h ahead and 2 more"));
  CHECK(finding.remedy == "NTP or chrony on every node");
}

TEST_CASE("of a clock that nobody has compared nothing is said", "[mesh]") {
  Cluster cluster(3);
  cluster.each([](int, Way& way) { way.ahead.reset(); });
  CHECK(cluster.findings().empty());
}
