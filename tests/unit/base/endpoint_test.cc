#include "safelaunch/base/endpoint.h"

#include "catch.h"

using namespace safelaunch;

TEST_CASE("the host of an endpoint has neither port nor brackets", "[endpoint]") {
  CHECK(endpoint_host("gpu-0:29400") == "gpu-0");
  CHECK(endpoint_host("[fd00::1]:29400") == "fd00::1");
  CHECK(endpoint_host("fd00::1:29400") == "fd00::1");
  CHECK(endpoint_host("gpu-0") == "gpu-0");
  CHECK(endpoint_host("") == "");
}
