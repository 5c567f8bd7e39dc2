#include "safelaunch/base/nearest.h"

#include <array>

#include "catch.h"

using namespace safelaunch;
using std::string_view_literals::operator""sv;

TEST_CASE("the nearest word is the one a person meant", "[nearest]") {
  constexpr std::array kWords{"basic"sv, "conservative"sv, "no-shm"sv, "gloo-fallback"sv};
  CHECK(nearest("conservativ", kWords) == "conservative");
  CHECK(nearest("no-smh", kWords) == "no-shm");
  CHECK(nearest("gloo_fallback", kWords) == "gloo-fallback");
  CHECK(nearest("xyzzy", kWords).empty());
  CHECK(nearest("", kWords).empty());
}

TEST_CASE("an error ends in a question only where there is a near word", "[nearest]") {
  constexpr std::array kWords{"timeouts"sv};
  CHECK(did_you_mean("timeout", kWords) == "; did you mean 'timeouts'?");
  CHECK(did_you_mean("colour", kWords).empty());
}
