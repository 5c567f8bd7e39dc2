#include "safelaunch/base/environment.h"

#include "catch.h"

using namespace safelaunch;

namespace {

std::string cache(const Environment& environment) {
  return user_folder(environment, "XDG_CACHE_HOME", ".cache");
}

}  // namespace

TEST_CASE("an XDG folder is the variable's, else the one below HOME", "[user_folder]") {
  CHECK(cache({{"HOME", "/home/a"}}) == "/home/a/.cache");
  CHECK(cache({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "/scratch/a"}}) == "/scratch/a");
  CHECK(cache({}).empty());
}

TEST_CASE("a relative XDG folder is passed over, and a relative HOME too", "[user_folder]") {
  CHECK(cache({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "ca"}}) == "/home/a/.cache");
  CHECK(cache({{"HOME", "home"}, {"XDG_CACHE_HOME", "./ca"}}).empty());
  CHECK(cache({{"HOME", ""}, {"XDG_CACHE_HOME", ""}}).empty());
}
