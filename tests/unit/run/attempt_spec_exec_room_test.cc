#include "launcher/run/attempt_spec.h"

#include <string>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::run;

TEST_CASE("words and variables count with their pointers, and a script's first line with 4 KiB",
          "[exec_room]") {
  constexpr std::size_t kLimit = 128U << 10;
  const auto fits = [](std::size_t size) {
    return fits_exec({"true"}, {{"A", std::string(size, 'x')}}, kLimit);
  };
  constexpr std::size_t kOthers = 4096 + (4 + 9) + (2 + 9);
  CHECK(fits(kLimit - kOthers));
  CHECK_FALSE(fits(kLimit - kOthers + 1));
}

TEST_CASE("this host's limit is what the kernel allows at least", "[exec_room]") {
  CHECK(exec_limit() >= 128U << 10);
  CHECK(exec_limit() <= 6U << 20);
}
