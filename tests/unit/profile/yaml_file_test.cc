#include "safelaunch/profile/yaml_file.h"

#include <cstring>
#include <string>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::profile;

namespace {

std::string refusal(std::string_view text, const YamlLimits& limits = {}) {
  const Result<YamlNode> node = parse_yaml(text, "f.yaml", limits);
  return node.has_error() ? node.error().message : "accepted";
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace

TEST_CASE("a YAML file becomes a tree of text with places", "[yaml]") {
  const YamlNode root = parse_yaml("a: 1\nb:\n  - x\n  - \"y z\"\nc: {d: no, e: ~}\n", "f").value();

  REQUIRE(root.kind == YamlNode::Kind::map);
  CHECK(root.find("a")->text == "1");
  CHECK(root.find("b")->items.at(1).text == "y z");
  CHECK(to_string(root.find("b")->items.at(1).place) == "f:4:5");
  CHECK(root.find("c")->find("d")->text == "no");
  CHECK(root.find("c")->find("e")->kind == YamlNode::Kind::null);
  CHECK(to_string(root.entries.at(2).place) == "f:5:1");
  CHECK(root.find("z") == nullptr);
}

TEST_CASE("an empty YAML file is nothing, at its first line", "[yaml]") {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n"}) {
    INFO(text);
    CHECK(parse_yaml(text, "f").value().kind == YamlNode::Kind::null);
  }
}

TEST_CASE("a key that occurs twice is refused with both lines", "[yaml]") {
  CHECK(refusal("a: 1\nb: 2\na: 3\n") ==
        "f.yaml:3:1: the key 'a' occurs twice; the first is in line 1");
}

TEST_CASE("what makes YAML bombs is refused", "[yaml]") {
  CHECK(refusal("a: &x [1]\nb: *x\n").starts_with("f.yaml:1:4: an anchor"));
  CHECK(refusal("b: *x\n").starts_with("f.yaml:1:4: "));
  CHECK(refusal("<<: {a: 1}\n").starts_with("f.yaml:1:1: a merge key (<<)"));
  CHECK(refusal("a: !!python/object 1\n").starts_with("f.yaml:1:4: the tag '"));
  CHECK(refusal("a: !x 1\n").starts_with("f.yaml:1:4: the tag '!x'"));
}

TEST_CASE("size, depth and number of values are bounded", "[yaml]") {
  CHECK(refusal(std::string(1'000'001, ' ')) ==
        "f.yaml: the file has 1000001 bytes; at most 65536 are read");
  CHECK(refusal(repeated("[", 17) + repeated("]", 17)) ==
        "f.yaml:1:17: lists and maps are nested deeper than 16");
  CHECK(refusal(repeated("- a\n", 10'001)).ends_with("the file has more than 10000 values"));
  CHECK(
      refusal("{a: 1, b: 2}", {.bytes = 100, .nodes = 3, .depth = 2}).starts_with("f.yaml:1:8: "));
}

TEST_CASE("hostile YAML as long as allowed is refused or read, and never throws", "[yaml]") {
  const std::size_t longest = YamlLimits{}.bytes;
  for (const char* unit :
       {"[",    "{",       "- ",     "? ",          "a: ",        "\"",      "&a ",
        "%",    "- - a\n", "k: v\n", "[a,",         "{a: ",       "'\n",     "|\n ",
        "!",    "---\n",   "...\n",  "# x\n",       "x",          " y\n",    "\xef\xbb\xbf",
        "\\\n", "a\n\n",   ",",      "%YAML 1.2\n", "%TAG ! x\n", "\xc3\xb6"}) {
    for (const char* start : {"", "a: ", "a: \"", "a: |\n ", "[", "!<", "*"}) {
      INFO(start << unit);
      const std::string text = start + repeated(unit, (longest - 10) / std::strlen(unit));
      CHECK_NOTHROW(parse_yaml(text, "f"));
    }
  }
}

TEST_CASE("bytes that are no text are refused where they stand", "[yaml]") {
  CHECK(refusal(std::string("a: 1\nb: \0x\n", 11)) ==
        "f.yaml:2:4: the byte 0x00 is no text (UTF-8 without control characters)");
  CHECK(refusal("a: \x1b[2J\n").starts_with("f.yaml:1:4: the byte 0x1b"));
  CHECK(refusal("a: 1\n\x04"
                "b: [\n")
            .starts_with("f.yaml:2:1: the byte 0x04"));
  CHECK(refusal("a: \xc3(\n").starts_with("f.yaml:1:4: the byte 0xc3"));
  CHECK(refusal("a: \xed\xa0\x80\n").starts_with("f.yaml:1:4: the byte 0xed"));
  CHECK(refusal("a: \xc2\x9b\n").starts_with("f.yaml:1:4: the byte 0xc2"));
  CHECK(refusal("a: \"\\x1b[2J\"\n") == "f.yaml:1:4: the text has a control character in it");
  CHECK(refusal("a: \"\\0\"\n") == "f.yaml:1:4: the text has a control character in it");
  CHECK(refusal("größe: ✓ 𝄞\n") == "accepted");
}

TEST_CASE("YAML that is not well formed is refused where it stops", "[yaml]") {
  CHECK(refusal("a: [1, 2\n").starts_with("f.yaml:2:1: "));
  CHECK(refusal("a: b: c\n").starts_with("f.yaml:1:5: "));
  CHECK(refusal("a: \"x").starts_with("f.yaml:1:6: "));
  CHECK(refusal("\ta: 1\n").starts_with("f.yaml:1:"));
  CHECK(refusal("[a]: 1\n") == "f.yaml:1:1: a key must be a word");
  CHECK(refusal("\"\": 1\n") == "f.yaml:1:1: a key must be a word");
  CHECK(refusal("~: 1\n") == "f.yaml:1:1: a key must be a word");
  CHECK(refusal("a: 1\n---\nb: 2\n") == "f.yaml:3:1: only one document is allowed in a file");
}
