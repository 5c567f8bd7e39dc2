#include "safelaunch/nccl/version.h"
#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::nccl;

TEST_CASE("versions of NCCL are read in all their forms", "[nccl]") {
  CHECK(parse_nccl_version("2.28.9+cuda13.0") == Version{2, 28, 9});
  CHECK(parse_nccl_version("2.23") == Version{2, 23, 0});
  CHECK(to_string(Version{2, 18, 5}) == "2.18.5");
}

TEST_CASE("what is no version is none", "[nccl]") {
  for (const char* text : {"", "2", "2.", "x.1", "-2.1", "2.99999999999", "unknown unknown"}) {
    INFO(text);
    CHECK_FALSE(parse_nccl_version(text));
  }
}

TEST_CASE("versions are ordered by number", "[nccl]") {
  CHECK(Version{2, 9, 9} < Version{2, 23, 0});
  CHECK(starts_before_bootstrap({2, 23, 4}));
  CHECK_FALSE(starts_before_bootstrap({2, 22, 3}));
}
