#include "safelaunch/base/result.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "catch.h"
#include "safelaunch/base/finding.h"

using namespace safelaunch;

TEST_CASE("each kind of trouble has the exit status of the README's table", "[result]") {
  const std::vector<std::pair<Errc, int>> table{
      {Errc::usage, 64},           {Errc::bad_config, 78}, {Errc::not_found, 127},
      {Errc::not_executable, 126}, {Errc::blocked, 75},    {Errc::peer_lost, 69},
      {Errc::not_written, 74},     {Errc::os, 125}};
  for (const auto& [code, status] : table) CHECK(exit_code_of(code) == status);
}

TEST_CASE("the value of a failed result throws its message", "[result]") {
  const Result<int> failed = Error{Errc::blocked, "port 29500 is held"};
  CHECK_THROWS_WITH(failed.value(), "port 29500 is held");
  const Result<> nothing = Error{Errc::os, "no"};
  CHECK_THROWS_AS(nothing.value(), std::runtime_error);
}

TEST_CASE("each severity has a word of its own", "[finding]") {
  CHECK(name(Severity::note) == std::string("note"));
  CHECK(name(Severity::risk) == std::string("risk"));
  CHECK(name(Severity::blocks) == std::string("blocks"));
}
