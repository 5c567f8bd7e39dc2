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
