#include "catch.h"
#include "safelaunch/nccl/version.h"

using namespace safelaunch;

using namespace safelaunch::nccl;

TEST_CASE("a number is announced under its own name", "[nccl]") {
  CHECK(announced_as("NCCL_CUMEM_HOST_ENABLE", {2, 28, 9}) == "NCCL_CUMEM_HOST_ENABLE");
  CHECK(announced_as("NCCL_P2P_DISABLE", {2, 28, 9}) == "NCCL_P2P_DISABLE");
}

TEST_CASE("up to 2.22 NCCL_P2P_DISABLE shows as the level that it sets", "[nccl]") {
  CHECK(announced_as("NCCL_P2P_DISABLE", {2, 21, 5}) == "NCCL_P2P_LEVEL");
}

TEST_CASE("what NCCL reads without a word proves nothing by its silence", "[nccl]") {
  CHECK(announced_as("NCCL_NET", {2, 28, 9}).empty());
  CHECK(announced_as("NCCL_DEBUG_SUBSYS", {2, 28, 9}).empty());
}
