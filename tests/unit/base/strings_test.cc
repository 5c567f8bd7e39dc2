#include "safelaunch/base/strings.h"

#include <array>
#include <set>
#include <vector>

#include "catch.h"

using namespace safelaunch;
using std::string_view_literals::operator""sv;

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

TEST_CASE("a number is the whole of its text", "[strings]") {
  CHECK(to_number("29500") == 29500);
  CHECK(to_number("-3") == -3);
  CHECK(to_number<unsigned>("1f", 16) == 31);
  for (const char* none : {"", " 8", "8 ", "8x", "+8", "99999999999"}) CHECK_FALSE(to_number(none));
  CHECK(number_in("71 (a)") == 71);
  CHECK(number_in("none") == 0);
}

TEST_CASE("blanks around a text go, those within it stay", "[strings]") {
  CHECK(trimmed(" \ta b\r\n") == "a b");
  CHECK(trimmed(" \t ").empty());
}

TEST_CASE("a text is cut behind a whole character", "[strings]") {
  CHECK(cut("abc", 3) == "abc");
  CHECK(cut("aäb", 2) == "a");
  CHECK(cut("aäb", 3) == "aä");
}

TEST_CASE("a text is wrapped at blanks, below the column where it begins", "[strings]") {
  CHECK(wrapped("one two three", 2, 10) == "one two\n  three");
  CHECK(wrapped("one", 2, 4) == "one");
  CHECK(wrapped("a longestword b", 0, 5) == "a\nlongestword\nb");
  CHECK(wrapped("", 2).empty());
}

TEST_CASE("a word is taken off up to its separator", "[strings]") {
  std::string_view text = "a=b=c";
  CHECK(take_word(text, '=') == "a");
  CHECK(text == "b=c");
  CHECK(take_word(text, ',') == "b=c");
  CHECK(text.empty());
}

TEST_CASE("a size is said in the largest unit that it fills") {
  CHECK(rough_size(65536) == "64 KiB");
  CHECK(rough_size(std::uint64_t{64} << 20) == "64 MiB");
  CHECK(rough_size(std::uint64_t{47} << 29) == "23.5 GiB");
}

TEST_CASE("a number is taken off the front of a text, and what is none is left") {
  std::string_view text = "42s";
  CHECK(take_number(text) == 42);
  CHECK(text == "s");
  CHECK_FALSE(take_number(text));
  CHECK(text == "s");
  for (std::string_view none : {"", " 1", "+1", "4294967296"}) {
    const std::string_view before = none;
    CHECK_FALSE(take_number(none));
    CHECK(none == before);
  }
  std::string_view unsigned_text = "-1";
  CHECK_FALSE(take_number<unsigned>(unsigned_text));
}

TEST_CASE("a word is quoted for a shell only where it has to be") {
  CHECK(shell_word("--lr=1e-4") == "--lr=1e-4");
  CHECK(shell_word("my run") == "'my run'");
  CHECK(shell_word("$HOME") == "'$HOME'");
  CHECK(shell_word("~") == "'~'");
  CHECK(shell_word("") == "''");
}
