#include <utility>
#include <vector>

#include "catch.h"
#include "safelaunch/base/strings.h"

using namespace safelaunch;
using Kind = CodePoint::Kind;

namespace {

/// Every form that a code point can take, at its bounds.
struct CodePointCase {
  std::string text;
  Kind kind;
  char32_t value;
  std::size_t length;
};

}  // namespace

TEST_CASE("the first code point is read at the bounds of every form", "[code_point]") {
  const std::vector<CodePointCase> cases{
      {"a", Kind::valid, 'a', 1},
      {std::string(1, '\0'), Kind::valid, 0, 1},
      {"\x7f", Kind::valid, 0x7f, 1},
      {"\xc2\x80", Kind::valid, 0x80, 2},
      {"\xdf\xbf", Kind::valid, 0x7ff, 2},
      {"\xe0\xa0\x80", Kind::valid, 0x800, 3},
      {"\xed\x9f\xbf", Kind::valid, 0xd7ff, 3},
      {"\xee\x80\x80", Kind::valid, 0xe000, 3},
      {"\xef\xbf\xbf", Kind::valid, 0xffff, 3},
      {"\xf0\x90\x80\x80", Kind::valid, 0x10000, 4},
      {"\xf4\x8f\xbf\xbf", Kind::valid, 0x10ffff, 4},
      {"\xc3\xa4rger", Kind::valid, 0xe4, 2},
  };
  for (const auto& [text, kind, value, length] : cases) {
    const CodePoint front = first_code_point(text);
    CAPTURE(static_cast<unsigned>(value));
    CHECK((front.kind == kind && front.value == value && front.length == length));
  }
}

TEST_CASE("what terminals do not agree on is invalid, one byte at a time", "[code_point]") {
  for (const char* text : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf",
                           "\xf0\x8f\xbf\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf4\x90\x80\x80",
                           "\xf8\x88\x80\x80\x80", "\xff", "\xc3(", "\xe2\x82(", "\xf0\x9f\x98("}) {
    const CodePoint front = first_code_point(text);
    CHECK((front.kind == Kind::invalid && front.length == 1));
  }
}

TEST_CASE("a text that ends within a code point is incomplete by all it has", "[code_point]") {
  for (const std::string text : {"\xc3", "\xe2", "\xe2\x82", "\xf0", "\xf0\x9f", "\xf0\x9f\x98"}) {
    const CodePoint front = first_code_point(text);
    CHECK((front.kind == Kind::incomplete && front.length == text.size()));
  }
}

TEST_CASE("every text is walked through to its end, whatever its bytes", "[code_point]") {
  std::string text;
  for (int byte = 0; byte < 256; ++byte) text += {static_cast<char>(byte), static_cast<char>(0xc3)};
  std::string_view rest = text;
  std::size_t steps = 0;
  for (; !rest.empty() && steps <= text.size(); ++steps)
    rest.remove_prefix(first_code_point(rest).length);
  CHECK(rest.empty());
}

TEST_CASE("a cut never leaves half a character, at any length", "[strings]") {
  const std::string text = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z";
  const std::vector<std::size_t> whole{0, 1, 3, 6, 10, 11};
  for (std::size_t longest = 0; longest <= text.size() + 1; ++longest) {
    std::size_t wanted = 0;
    for (const std::size_t size : whole)
      if (size <= longest) wanted = size;
    CHECK(cut(text, longest).size() == wanted);
  }
  CHECK(cut(std::string(100, '\x80'), 50).empty());  // no character begins in it
}
