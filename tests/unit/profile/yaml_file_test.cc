#include "safelaunch/profile/yaml_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::profile;

namespace {

std::string refusal_of_yaml(std::string_view text, const YamlLimits& limits = {}) {
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
  CHECK(refusal_of_yaml("a: 1\nb: 2\na: 3\n") ==
        "f.yaml:3:1: the key 'a' occurs twice; the first is in line 1");
}

TEST_CASE("what makes YAML bombs is refused", "[yaml]") {
  CHECK(refusal_of_yaml("a: &x [1]\nb: *x\n").starts_with("f.yaml:1:4: an anchor"));
  CHECK(refusal_of_yaml("b: *x\n").starts_with("f.yaml:1:4: "));
  CHECK(refusal_of_yaml("<<: {a: 1}\n").starts_with("f.yaml:1:1: a merge key (<<)"));
  CHECK(refusal_of_yaml("a: !!python/object 1\n").starts_with("f.yaml:1:4: the tag '"));
  CHECK(refusal_of_yaml("a: !x 1\n").starts_with("f.yaml:1:4: the tag '!x'"));
}

TEST_CASE("size, depth and number of values are bounded", "[yaml]") {
  CHECK(refusal_of_yaml(std::string(1'000'001, ' ')) ==
        "f.yaml: the file has 1000001 bytes; at most 65536 are read");
  CHECK(refusal_of_yaml(repeated("[", 17) + repeated("]", 17)) ==
        "f.yaml:1:17: lists and maps are nested deeper than 16");
  CHECK(
      refusal_of_yaml(repeated("- a\n", 10'001)).ends_with("the file has more than 10000 values"));
  CHECK(refusal_of_yaml("{a: 1, b: 2}", {.bytes = 100, .nodes = 3, .depth = 2})
            .starts_with("f.yaml:1:8: "));
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
  CHECK(refusal_of_yaml(std::string("a: 1\nb: \0x\n", 11)) ==
        "f.yaml:2:4: the byte 0x00 is no text (UTF-8 without control characters)");
  CHECK(refusal_of_yaml("a: \x1b[2J\n").starts_with("f.yaml:1:4: the byte 0x1b"));
  CHECK(refusal_of_yaml("a: 1\n\x04"
                        "b: [\n")
            .starts_with("f.yaml:2:1: the byte 0x04"));
  CHECK(refusal_of_yaml("a: \xc3(\n").starts_with("f.yaml:1:4: the byte 0xc3"));
  CHECK(refusal_of_yaml("a: \xed\xa0\x80\n").starts_with("f.yaml:1:4: the byte 0xed"));
  CHECK(refusal_of_yaml("a: \xc2\x9b\n").starts_with("f.yaml:1:4: the byte 0xc2"));
  CHECK(refusal_of_yaml("a: \"\\x1b[2J\"\n") ==
        "f.yaml:1:4: the text has a control character in it");
  CHECK(refusal_of_yaml("a: \"\\0\"\n") == "f.yaml:1:4: the text has a control character in it");
  CHECK(refusal_of_yaml("größe: ✓ 𝄞\n") == "accepted");
}

TEST_CASE("YAML that is not well formed is refused where it stops", "[yaml]") {
  CHECK(refusal_of_yaml("a: [1, 2\n").starts_with("f.yaml:2:1: "));
  CHECK(refusal_of_yaml("a: b: c\n").starts_with("f.yaml:1:5: "));
  CHECK(refusal_of_yaml("a: \"x").starts_with("f.yaml:1:6: "));
  CHECK(refusal_of_yaml("\ta: 1\n").starts_with("f.yaml:1:"));
  CHECK(refusal_of_yaml("[a]: 1\n") == "f.yaml:1:1: a key must be a word");
  CHECK(refusal_of_yaml("\"\": 1\n") == "f.yaml:1:1: a key must be a word");
  CHECK(refusal_of_yaml("~: 1\n") == "f.yaml:1:1: a key must be a word");
  CHECK(refusal_of_yaml("a: 1\n---\nb: 2\n") ==
        "f.yaml:3:1: only one document is allowed in a file");
}

TEST_CASE("a quote that does not end swallows nothing", "[yaml]") {
  const std::string refused = ": the quote that begins here does not end";
  for (const std::string quote : {"\"", "'"}) {
    const std::string open = "env:\n  A: " + quote + "Ring\nchain: [x]\n";
    CHECK(refusal_of_yaml(open) == "f.yaml:2:6" + refused);
    CHECK(refusal_of_yaml("\xef\xbb\xbf" + open) == "f.yaml:2:6" + refused);
    CHECK(refusal_of_yaml("# it's\r\nA: " + quote + "x\r\n") == "f.yaml:2:4" + refused);
  }
  CHECK(refusal_of_yaml("a: \"x\\\"\n") == "f.yaml:1:4" + refused);
  CHECK(refusal_of_yaml("a: 'x''\n") == "f.yaml:1:4" + refused);
  for (const char* closed :
       {"a: \"x\\\\\"\n", "a: 'x'''\n", "a: '''x'  # it's\n", "a: \"x\n  y\"\n", "a: x'y\"\n",
        "a: |\n  it's\n", "'a': ''\n", "# it's\n", ""}) {
    INFO(closed);
    CHECK(refusal_of_yaml(closed) == "accepted");
  }
}

TEST_CASE("a tab and a line too far to the left are refused in plain words", "[yaml]") {
  CHECK(refusal_of_yaml("a:\n\tb: 1\n") ==
        "f.yaml:2:1: a tab indents here; YAML takes blanks alone");
  CHECK(refusal_of_yaml("  a: 1\nb: 2\n") ==
        "f.yaml:2:1: the line is indented less than the first one");
}

TEST_CASE("a byte order mark, line ends of Windows and a directive change nothing", "[yaml]") {
  const auto plain = parse_yaml("a: 1\nb: [x, y]\n", "f").value();
  for (const char* text : {"\xef\xbb\xbf"
                           "a: 1\nb: [x, y]\n",
                           "a: 1\r\nb: [x, y]\r\n", "a: 1\nb: [x, y]", "a: 1\nb: [x,\ty]\n",
                           "a: 1 # one\nb: [x, y]\n...\n"}) {
    INFO(text);
    const auto read = parse_yaml(text, "f");
    REQUIRE(read.has_value());
    CHECK(read->find("a")->text == "1");
    CHECK(read->find("b")->items.size() == plain.find("b")->items.size());
    CHECK(to_string(read->find("b")->items.at(0).place) == "f:2:5");
  }
  CHECK(parse_yaml("%YAML 1.2\n---\na: 1\n", "f")->find("a")->text == "1");
  CHECK(parse_yaml("---\na: 1\n", "f")->find("a")->place.line == 2);
}

TEST_CASE("a mark in the middle of a text is text, and half of one is refused", "[yaml]") {
  CHECK(refusal_of_yaml("a: x\xef\xbb\xbfy\n") == "accepted");
  CHECK(refusal_of_yaml("\xef\xbb") ==
        "f.yaml:1:1: the byte 0xef is no text (UTF-8 without control characters)");
  CHECK(refusal_of_yaml("\xff\xfe"
                        "a") ==
        "f.yaml:1:1: the byte 0xff is no text (UTF-8 without control characters)");
}

TEST_CASE("a place counts bytes of its line, behind line ends of each kind", "[yaml]") {
  CHECK(refusal_of_yaml("a: 1\r\nb: \x01\r\n").starts_with("f.yaml:2:4: the byte 0x01"));
  CHECK(refusal_of_yaml("\n\n  \x7f").starts_with("f.yaml:3:3: the byte 0x7f"));
  CHECK(refusal_of_yaml("\x01").starts_with("f.yaml:1:1: the byte 0x01"));
}

TEST_CASE("a scalar is its text, however it is written", "[yaml]") {
  struct Row {
    const char* text;
    const char* value;
  };
  const Row rows[] = {
      {"a: word", "word"},
      {"a: two words", "two words"},
      {"a: 'it''s'", "it's"},
      {"a: \"x\\ty\"", "x\ty"},
      {"a: \"\\u00e4\"", "\xc3\xa4"},
      {"a: |\n  one\n  two\n", "one\ntwo\n"},
      {"a: >\n  one\n  two\n", "one two\n"},
      {"a: |-\n  one\n", "one"},
      {"a: one\n  two\n", "one two"},
      {"a: 0x10", "0x10"},
      {"a: 010", "010"},
      {"a: 1e3", "1e3"},
      {"a: yes", "yes"},
      {"a: 2026-01-01", "2026-01-01"},
      {"a: \"~\"", "~"},
      {"a: 'null'", "null"},
      {"a: ''", ""},
      {"a: x#y", "x#y"},
      {"a: x # y", "x"},
      {"a: \"a\nb\"", "a b"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const auto read = parse_yaml(row.text, "f");
    REQUIRE(read.has_value());
    CHECK(read->find("a")->kind == YamlNode::Kind::scalar);
    CHECK(read->find("a")->text == row.value);
  }
  for (const char* text : {"a:", "a: ~", "a: null", "a: Null", "a: NULL", "{a: , b: 1}"})
    CHECK(parse_yaml(text, "f")->find("a")->kind == YamlNode::Kind::null);
}

TEST_CASE("anchors, aliases and tags are refused wherever they stand", "[yaml]") {
  for (const char* text : {"&a x", "&a [x]", "&a {b: c}", "a: &b c", "a: &b ~", "a: [&b c]",
                           "&a b: c", "a: &b\n  c: d"}) {
    INFO(text);
    CHECK(refusal_of_yaml(text).ends_with(
        ": an anchor (&name) is not allowed; write the value where it is needed"));
  }
  for (const char* text : {"!!str x", "a: !!int 1", "a: !!binary eA==", "a: !!python/tuple [x]",
                           "a: !<tag:x> y", "a: [!b c]", "!!map {a: b}", "a: !!null ~"}) {
    INFO(text);
    CHECK(refusal_of_yaml(text).find("is not allowed; write the value alone") != std::string::npos);
  }
  for (const char* text : {"a: [*b]", "*a", "a: {b: *c}"}) {
    INFO(text);
    CHECK(refusal_of_yaml(text) != "accepted");
  }
  CHECK(refusal_of_yaml("a: \"&b *c !d <<\"") == "accepted");
}

TEST_CASE("a key is a word of one line, once, and no merge", "[yaml]") {
  for (const char* text : {"[a]: b", "{a: b}: c", "? [a]\n: b", "\"\": b", "~: b", "? ''\n: b"})
    CHECK(refusal_of_yaml(text).ends_with(": a key must be a word"));
  CHECK(refusal_of_yaml("a: 1\n\"a\": 2") ==
        "f.yaml:2:1: the key 'a' occurs twice; the first is in line 1");
  CHECK(refusal_of_yaml("x: {b: 1, c: 2, b: 3}") ==
        "f.yaml:1:17: the key 'b' occurs twice; the first is in line 1");
  CHECK(refusal_of_yaml("x: {b: 1}\ny: {b: 2}") == "accepted");
  CHECK(refusal_of_yaml("a: {<<: {b: 1}}") ==
        "f.yaml:1:5: a merge key (<<) is not allowed; use extends");
  CHECK(refusal_of_yaml("'<<': 1") == "f.yaml:1:1: a merge key (<<) is not allowed; use extends");
}

TEST_CASE("a map has at most so many keys, and a file so many bytes", "[yaml]") {
  const auto keys = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "k" + std::to_string(i) + ": 1\n";
    return text;
  };
  CHECK(refusal_of_yaml(keys(500)) == "accepted");
  CHECK(refusal_of_yaml(keys(501)) == "f.yaml:501:1: the map has more than 500 keys");
  CHECK(refusal_of_yaml("a: " + std::string(65536 - 3, 'x')) == "accepted");
  CHECK(refusal_of_yaml("a: " + std::string(65536 - 2, 'x')) ==
        "f.yaml: the file has 65537 bytes; at most 65536 are read");
  CHECK(refusal_of_yaml(repeated("[", 16) + repeated("]", 16)) == "accepted");
  CHECK(refusal_of_yaml(repeated("{a: ", 17) + repeated("}", 17)) ==
        "f.yaml:1:65: lists and maps are nested deeper than 16");
}

namespace {

constexpr std::string_view kReaderKeys[] = {"word", "flag", "time", "list", "color"};
constexpr std::array kColors{Choice<int>{"red", 1}, Choice<int>{"green", 2}};

// The values that the keys of a map have, or its mistakes.
std::string read_all(const std::string& text) {
  const YamlNode root = parse_yaml(text, "f").value();
  std::string word = "-";
  bool flag = false;
  Duration time{};
  std::vector<std::string> list{"-"};
  int color = 0;
  YamlReader reader(root, "a thing", kReaderKeys);
  reader.read("word", word);
  reader.read("flag", flag);
  reader.read("time", time);
  reader.read("list", list);
  reader.read<int>("color", color, kColors);
  if (!reader.mistakes().empty()) return error_of(reader.mistakes()).message;
  std::string result = word + (flag ? " on " : " off ") + std::to_string(time.count());
  for (const std::string& each : list) result += " " + each;
  return result + " " + std::to_string(color);
}

}  // namespace

TEST_CASE("a key that is absent leaves what was there before", "[yaml]") {
  CHECK(read_all("{}") == "- off 0 - 0");
  CHECK(read_all("{word: x, flag: true, time: 1s, list: [a, b], color: green}") ==
        "x on 1000 a b 2");
  CHECK(read_all("{list: a}") == "- off 0 a 0");
  CHECK(read_all("{list: []}") == "- off 0 0");
  CHECK(read_all("{flag: false}") == "- off 0 - 0");
}

TEST_CASE("all mistakes of a map are told at once, from its top", "[yaml]") {
  CHECK(read_all(
            "{word: [x], flag: maybe, time: ~, list: {a: b}, color: grean, wrod: 1, zzzzz: 2}") ==
        "f:1:8: word must be one value, not a list\n"
        "f:1:19: 'maybe' is not one of true, false\n"
        "f:1:32: time must be one value, not nothing\n"
        "f:1:41: list must be a list of words, not a map\n"
        "f:1:56: 'grean' is not one of red, green; did you mean 'green'?\n"
        "f:1:63: a thing has no key 'wrod'; did you mean 'word'?\n"
        "f:1:72: a thing has no key 'zzzzz'; there are word, flag, time, list, color");
  CHECK(read_all("[a]") == "f:1:1: a thing must be a map of keys to values, not a list");
}

TEST_CASE("a function that reads a key is called only where the key is there", "[yaml]") {
  const YamlNode root = parse_yaml("{word: x}", "f").value();
  YamlReader reader(root, "a thing", kReaderKeys);
  std::vector<std::string> seen;
  const auto note = [&](const YamlNode& node) {
    seen.push_back(node.text);
    return Mistake{node.place, "no"};
  };
  reader.read_with("list", note);
  CHECK(reader.well_so_far());
  reader.read_with("word", note);
  CHECK_FALSE(reader.well_so_far());
  CHECK(seen == std::vector<std::string>{"x"});
  CHECK(error_of(reader.mistakes()).message == "f:1:8: no");
}

TEST_CASE("of several mistakes the first eight are told for people", "[yaml]") {
  for (int count = 1; count <= 11; ++count) {
    Mistakes mistakes;
    for (int i = 1; i <= count; ++i) mistakes.add({{"f", i, 1}, "wrong"});
    const std::string told = error_of(mistakes).message;
    INFO(count);
    CHECK(std::ranges::count(told, '\n') == std::min(count - 1, 8));
    CHECK(told.ends_with(count <= 8 ? "f:" + std::to_string(count) + ":1: wrong"
                                    : "\nand " + std::to_string(count - 8) + " more"));
  }
  CHECK(Mistakes().empty());
}

TEST_CASE("mistakes are told in the order of the file's lines", "[yaml]") {
  Mistakes mistakes;
  mistakes.add({{"f", 7, 7}, "a"});
  mistakes.add({{"f", 12, 1}, "b: 1:2: c"});
  mistakes.add({{"f", 7, 2}, "d"});
  mistakes.add({{"f"}, "e"});
  CHECK(error_of(mistakes).message == "f: e\nf:7:2: d\nf:7:7: a\nf:12:1: b: 1:2: c");
}

TEST_CASE("a place without a line is the file alone", "[yaml]") {
  CHECK(to_string(Place{"f"}) == "f");
  CHECK(to_string(Place{"f", 3, 0}) == "f:3:0");
  CHECK(error_at({"f", 1, 2}, "x").code == Errc::bad_config);
}
