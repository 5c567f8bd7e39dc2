#include "safelaunch/base/environment.h"

#include <cstdlib>

#include "catch.h"
#include "temporary_folder.h"

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

TEST_CASE("a variable that is set and empty is not one that is missing", "[environment]") {
  const Environment environment{{"EMPTY", ""}, {"NAME", "value"}};
  CHECK(value_or(environment, "NAME", "other") == "value");
  CHECK(value_or(environment, "EMPTY", "other").empty());
  CHECK(value_or(environment, "MISSING", "other") == "other");
  CHECK(value_or(environment, "name", "other") == "other");  // capitals count
}

TEST_CASE("the cache is safelaunch's own folder in the user's, or none", "[environment]") {
  const testing::TemporaryFolder home;
  CHECK(cache_directory({{"HOME", home / ""}}) == home / "/.cache/safelaunch");
  CHECK(cache_directory({{"XDG_CACHE_HOME", "/scratch"}}) == "/scratch/safelaunch");
  CHECK(cache_directory({}).empty());
}

TEST_CASE("our own environment has what was set, with the equals signs of a value",
          "[environment]") {
  REQUIRE(::setenv("SAFELAUNCH_BASE_TEST", "a=b=c", 1) == 0);
  CHECK(current_environment().at("SAFELAUNCH_BASE_TEST") == "a=b=c");
  ::unsetenv("SAFELAUNCH_BASE_TEST");
  CHECK_FALSE(current_environment().contains("SAFELAUNCH_BASE_TEST"));
}

TEST_CASE("a file of state stands below the state folder, or nowhere", "[environment]") {
  CHECK(state_file({{"XDG_STATE_HOME", "/s"}, {"HOME", "/h"}}, "worked.json") ==
        "/s/safelaunch/worked.json");
  const testing::TemporaryFolder home;
  CHECK(state_file({{"HOME", home / ""}}, "runs") == home / "/.local/state/safelaunch/runs");
  CHECK(state_file({}, "runs").empty());
}

TEST_CASE("a home that does not exist is not made, not even by root", "[environment]") {
  const testing::TemporaryFolder folder;
  CHECK(state_file({{"HOME", folder / "missing"}}, "runs").empty());
  CHECK(cache_directory({{"HOME", folder / "missing"}}).empty());
  CHECK(cache_directory({{"HOME", folder / "missing"}, {"XDG_CACHE_HOME", "/s"}}) ==
        "/s/safelaunch");
}
