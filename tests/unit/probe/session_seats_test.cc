#include "safelaunch/probe/session.h"

#include <set>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::probe;

namespace {

constexpr nccl::Version k2_28{2, 28, 9};
constexpr nccl::Version k2_30{2, 30, 7};

}  // namespace

TEST_CASE("each rank has its GPU, and the profile's variables") {
  const auto seats = seat_ranks(2, 2, k2_28, {{"NCCL_P2P_DISABLE", "1"}});
  REQUIRE(seats.size() == 2);
  CHECK(seats[0].device == 0);
  CHECK(seats[1].device == 1);
  for (const RankSeat& seat : seats) {
    CHECK(seat.environment.at("NCCL_P2P_DISABLE") == "1");
    CHECK_FALSE(seat.environment.contains("NCCL_HOSTID"));
    CHECK_FALSE(seat.environment.contains("NCCL_NET"));
  }
}

TEST_CASE("the probe's own log and manners beat the user's") {
  const auto seats = seat_ranks(1, 1, k2_28,
                                {{"NCCL_DEBUG", "INFO"},
                                 {"NCCL_DEBUG_SUBSYS", "ALL"},
                                 {"NCCL_DEBUG_FILE", "/a/file"},
                                 {"NCCL_COMM_BLOCKING", "1"},
                                 {"NCCL_COMM_ID", "node1:29500"}});
  const Environment& environment = seats[0].environment;
  CHECK(environment.at("NCCL_DEBUG") == "WARN");
  CHECK(environment.at("NCCL_DEBUG_FILE") == "/dev/stderr");
  CHECK(environment.at("NCCL_COMM_BLOCKING") == "0");
  CHECK(environment.at("NCCL_RAS_ENABLE") == "0");
  CHECK_FALSE(environment.contains("NCCL_DEBUG_SUBSYS"));
  CHECK_FALSE(environment.contains("NCCL_COMM_ID"));
}

TEST_CASE(
    "several ranks on a GPU are nodes of their own before NCCL 2.30, and four of them after") {
  for (const auto& seats : {seat_ranks(2, 1, k2_28, {}), seat_ranks(4, 1, k2_30, {}),
                            seat_ranks(2, 1, std::nullopt, {})}) {
    std::set<std::string> hosts;
    for (const RankSeat& seat : seats) {
      CHECK(seat.device == 0);
      hosts.insert(seat.environment.at("NCCL_HOSTID"));
      CHECK(seat.environment.at("NCCL_NET") == "Socket");
      CHECK(seat.environment.at("NCCL_SOCKET_IFNAME") == "lo");
      CHECK(seat.environment.at("NCCL_MNNVL_ENABLE") == "0");
      CHECK(seat.environment.at("NCCL_NVLS_ENABLE") == "0");
      CHECK(seat.environment.at("NCCL_MAX_CTAS") == "2");
    }
    CHECK(hosts.size() == seats.size());
  }
}

TEST_CASE("two ranks on a GPU are allowed by NCCL 2.30") {
  for (const RankSeat& seat : seat_ranks(4, 2, k2_30, {})) {
    CHECK(seat.environment.at("NCCL_MULTI_RANK_GPU_ENABLE") == "1");
    CHECK(seat.environment.at("NCCL_NVLS_ENABLE") == "0");
    CHECK_FALSE(seat.environment.contains("NCCL_HOSTID"));
  }
}

TEST_CASE("an interface that the profile or the user chose is what is probed") {
  const auto seats = seat_ranks(2, 1, k2_28, {{"NCCL_SOCKET_IFNAME", "nope"}});
  CHECK(seats[1].environment.at("NCCL_SOCKET_IFNAME") == "nope");
}

TEST_CASE("ranks are laid over the GPUs one after the other") {
  std::vector<int> devices;
  for (const RankSeat& seat : seat_ranks(5, 2, k2_28, {})) devices.push_back(seat.device);
  CHECK(devices == std::vector{0, 1, 0, 1, 0});
}

TEST_CASE("the oldest NCCL that lets ranks share a GPU is 2.30.0, two a GPU at most") {
  const auto by_permission = [](int ranks, int gpus, nccl::Version version) {
    return seat_ranks(ranks, gpus, version, {})
        .front()
        .environment.contains("NCCL_MULTI_RANK_GPU_ENABLE");
  };
  CHECK(by_permission(2, 1, {2, 30, 0}));
  CHECK_FALSE(by_permission(2, 1, {2, 29, 99}));
  CHECK(by_permission(2, 1, {3, 0, 0}));
  CHECK(by_permission(4, 2, {2, 30, 0}));
  CHECK_FALSE(by_permission(5, 2, {2, 30, 0}));
  CHECK_FALSE(by_permission(2, 2, {2, 30, 0}));  // nobody shares
}

TEST_CASE(
    "ranks that share a GPU over several nodes are nodes of their own by their whole number") {
  const auto seats = seat_ranks(2, 1, k2_28, {}, Part{6, 8});
  CHECK(seats[0].environment.at("NCCL_HOSTID") == "safelaunch-probe-6");
  CHECK(seats[1].environment.at("NCCL_HOSTID") == "safelaunch-probe-7");
  // Other nodes are not reached over the loopback.
  CHECK_FALSE(seats[0].environment.contains("NCCL_SOCKET_IFNAME"));
}

TEST_CASE("a host id of the user's does not stay, whoever shares") {
  for (const int gpus : {1, 2})
    for (const RankSeat& seat : seat_ranks(2, gpus, k2_30, {{"NCCL_HOSTID", "mine"}}))
      CHECK_FALSE(seat.environment.contains("NCCL_HOSTID"));
}

TEST_CASE("no rank has no seat") {
  CHECK(seat_ranks(0, 8, k2_30, {}).empty());
}
