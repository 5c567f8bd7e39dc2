#include "safelaunch/base/json_fields.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "catch.h"

using namespace safelaunch;
using nlohmann::json;
using namespace std::chrono_literals;

namespace {

json object(std::string_view text) {
  return json::parse(text);
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

}  // namespace

TEST_CASE("a document is read to a depth of 64", "[json]") {
  CHECK_FALSE(parse_json<json>(nested(64)).is_discarded());
  CHECK(parse_json<json>(nested(65)).is_discarded());
  CHECK(parse_json<json>(std::string(1'000'000, '[')).is_discarded());
  CHECK(parse_json<json>(std::string(1'000'000, '{')).is_discarded());
}

TEST_CASE("brackets within a text make no document deep", "[json]") {
  CHECK_FALSE(parse_json<json>("[\"" + std::string(1'000, '[') + "\"]").is_discarded());
  CHECK_FALSE(parse_json<json>("[\"\\\"" + std::string(1'000, '{') + "\"]").is_discarded());
  CHECK(parse_json<json>("[\"\\\\\"," + nested(65) + "]").is_discarded());
}

TEST_CASE("what is no JSON is discarded", "[json]") {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\"}", "nul", "'a'", "{a:1}", "\"a", "1 2",
                           "\xff", "[\"\xff\"]", "// x", "]"})
    CHECK(parse_json<json>(text).is_discarded());
  for (const char* text : {"null", "0", "\"\"", "[]", "{}", " {\"a\": 1} \n"})
    CHECK_FALSE(parse_json<json>(text).is_discarded());
}

TEST_CASE("a field that is missing or of another type reads as empty", "[json]") {
  const json mistyped = object(R"({"text": 7, "number": "7", "list": {}, "object": [], "flag": 1,
                                   "seconds": "9"})");
  for (const json& one : {mistyped, object("{}"), object("[]"), object("null"), object("\"text\""),
                          json(json::value_t::discarded)}) {
    CAPTURE(one.type_name());
    CHECK(text_of(one, "text").empty());
    CHECK_FALSE(text_if(one, "text").has_value());
    CHECK_FALSE(number_of(one, "number").has_value());
    CHECK_FALSE(amount_of(one, "number").has_value());
    CHECK(array_if(one, "list") == nullptr);
    CHECK(array_of(one, "list").empty());
    CHECK(texts_of(one, "list").empty());
    CHECK_FALSE(texts_if(one, "list").has_value());
    CHECK(numbers_of(one, "list").empty());
    CHECK(object_of(one, "object").empty());
    CHECK_FALSE(is_true(one, "flag"));
    CHECK_FALSE(is_false(one, "flag"));
    CHECK(duration_of(one, "seconds") == 0ms);
  }
}

TEST_CASE("a whole number that does not fit is none, and never another number", "[json]") {
  const json numbers = object(R"({"above int": 4294967296, "below int": -2147483649, "whole": 3.0,
                                  "above int64": 18446744073709551615, "negative": -1})");
  CHECK_FALSE(number_of(numbers, "above int").has_value());
  CHECK_FALSE(number_of(numbers, "below int").has_value());
  CHECK_FALSE(number_of(numbers, "above int64").has_value());
  CHECK_FALSE(number_of(numbers, "whole").has_value());
  CHECK(number_of<std::int64_t>(numbers, "above int") == 4'294'967'296);
  CHECK_FALSE(number_of<std::int64_t>(numbers, "above int64").has_value());
  CHECK(number_of<std::uint64_t>(numbers, "above int64") == 18'446'744'073'709'551'615U);
  CHECK(number_of(numbers, "negative") == -1);
  CHECK_FALSE(number_of<std::uint64_t>(numbers, "negative").has_value());
}

TEST_CASE("a number outside of its bounds is none", "[json]") {
  const json ports = object(R"({"none": -1, "lowest": 0, "highest": 65535, "above": 65536})");
  CHECK_FALSE(number_of(ports, "none", 0, 65'535).has_value());
  CHECK(number_of(ports, "lowest", 0, 65'535) == 0);
  CHECK(number_of(ports, "highest", 0, 65'535) == 65'535);
  CHECK_FALSE(number_of(ports, "above", 0, 65'535).has_value());
}

TEST_CASE("an amount may have a fraction, and is never negative", "[json]") {
  const json told = object(R"({"ms": 1.5, "whole": 2, "below": -0.1})");
  CHECK(amount_of(told, "ms") == 1.5);
  CHECK(amount_of(told, "whole") == 2);
  CHECK_FALSE(amount_of(told, "below").has_value());
}

TEST_CASE("a time of the record is within reason", "[json]") {
  const json told = object(R"({"t": 1.25, "below": -3, "beyond": 1e300})");
  CHECK(duration_of(told, "t") == 1250ms);
  CHECK(duration_of(told, "below") == 0ms);
  CHECK(duration_of(told, "beyond") == std::chrono::hours(24) * 3650);
}

TEST_CASE("a text of JSON is cut behind a whole character", "[json]") {
  const nlohmann::ordered_json told{{"text", "a\xc3\xa4"}, {"list", {"a\xc3\xa4", "b"}}};
  CHECK(text_of(told, "text", 2) == "a");
  CHECK(text_of(told, "text", 3) == "a\xc3\xa4");
  CHECK(texts_of(told, "list", kNoLimit, 2) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a list of texts leaves out what is none, or is refused for it", "[json]") {
  const json told = object(R"({"mixed": ["1", 2, "3", "4"], "pure": ["1", "3"], "empty": []})");
  CHECK(texts_of(told, "mixed") == std::vector<std::string>{"1", "3", "4"});
  CHECK(texts_of(told, "mixed", 2) == std::vector<std::string>{"1", "3"});
  CHECK_FALSE(texts_if(told, "mixed").has_value());
  CHECK(texts_if(told, "pure") == std::vector<std::string>{"1", "3"});
  CHECK(texts_if(told, "empty") == std::vector<std::string>{});
}

TEST_CASE("a list of numbers leaves out what is none", "[json]") {
  CHECK(numbers_of(object(R"({"ranks": [0, "1", 2.5, 3, 4294967296]})"), "ranks") ==
        std::vector<int>{0, 3});
}

TEST_CASE("a flag is true, false or not told", "[json]") {
  const json told = object(R"({"yes": true, "no": false})");
  CHECK(is_true(told, "yes"));
  CHECK_FALSE(is_false(told, "yes"));
  CHECK(is_false(told, "no"));
  CHECK_FALSE(is_true(told, "no"));
}

TEST_CASE("a value that is no number at all is none, whatever it looks like", "[json]") {
  for (const char* text : {"\"7\"", "true", "null", "[7]", "{\"a\": 7}", "7.0", "1e2"})
    CHECK_FALSE(as_number(object(text)));
  CHECK(as_number(object("-0")) == 0);
  CHECK(as_number<std::int64_t>(object("-9223372036854775808")) ==
        std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("fields of nested values are read where they are, the first text of a list too",
          "[json]") {
  const json told = object(R"({"list": [1, "a"], "inner": {"name": "x"}, "text": "t"})");
  CHECK(array_of(told, "list").size() == 2);
  CHECK(text_of(object_of(told, "inner"), "name") == "x");
  CHECK(text_if(told, "text") == "t");
  CHECK(field_of(told, "none") == nullptr);
  CHECK(texts_of(told, "list", 0).empty());
}
