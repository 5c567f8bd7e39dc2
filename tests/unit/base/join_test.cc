#include "safelaunch/base/join.h"

#include <set>
#include <vector>

#include "catch.h"

using namespace safelaunch;

TEST_CASE("words are joined with what stands between them", "[join]") {
  CHECK(join(std::vector<std::string>{"a", "b", "c"}, ", ") == "a, b, c");
  CHECK(join(std::set<std::string>{"one"}, ", ") == "one");
  CHECK(join(std::vector<std::string_view>{}, ", ").empty());
  CHECK(join(std::vector<std::string>{"", ""}, "|") == "|");
}

TEST_CASE("a list in words ends with and", "[join]") {
  CHECK(list_in_words(std::vector<std::string>{"a", "b", "c"}) == "a, b and c");
  CHECK(list_in_words(std::vector<std::string>{"a", "b"}) == "a and b");
  CHECK(list_in_words(std::vector<std::string>{"a"}) == "a");
}
