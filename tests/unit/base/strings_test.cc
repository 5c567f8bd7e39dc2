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

TEST_CASE("a command line is shown as a shell reads it") {
  CHECK(shell_line(std::vector<std::string>{"torchrun", "训练 脚本.py", "--lr=1e-4", ""}) ==
        "torchrun '训练 脚本.py' --lr=1e-4 ''");
  CHECK(shell_line({}).empty());
}

TEST_CASE("capitals of ASCII alone are lowered, whatever the locale", "[strings]") {
  CHECK(lower("NCCL_IB_HCA=mlx5_0") == "nccl_ib_hca=mlx5_0");
  CHECK(lower("@[`{\xc3\x84") == "@[`{\xc3\x84");
}

TEST_CASE("the last part of a path stands behind its last slash", "[strings]") {
  CHECK(base_name("/usr/bin/python3") == "python3");
  CHECK(base_name("python3") == "python3");
  CHECK(base_name("/usr/bin/").empty());
  CHECK(base_name("").empty());
}

TEST_CASE("words between separators may be empty, and so may the last one", "[strings]") {
  std::string_view text = ",a,,";
  std::vector<std::string> words;
  while (!text.empty()) words.emplace_back(take_word(text, ','));
  CHECK(words == std::vector<std::string>{"", "a", ""});
  CHECK(take_word(text).empty());
}

TEST_CASE("a number has no other letters than its base has", "[strings]") {
  CHECK(to_number<unsigned>("ff", 16) == 255);
  CHECK_FALSE(to_number<unsigned>("0xff", 16));
  CHECK_FALSE(to_number<unsigned>("8", 8));
  CHECK_FALSE(to_number<unsigned>("-1"));
  CHECK(to_number("007") == 7);
  CHECK_FALSE(to_number("--7"));
}

TEST_CASE("a number at the bounds of its type is read, and beyond them is none", "[strings]") {
  CHECK(to_number("2147483647") == 2147483647);
  CHECK_FALSE(to_number("2147483648"));
  CHECK(to_number("-2147483648") == -2147483647 - 1);
  CHECK(to_number<std::uint16_t>("65535") == 65535);
  CHECK_FALSE(to_number<std::uint16_t>("65536"));
  CHECK(to_number<std::uint64_t>("18446744073709551615") == ~std::uint64_t{0});
  CHECK(number_in("18446744073709551616") == 0);
}

TEST_CASE("a text for a shell keeps every byte, quotes and line ends too", "[strings]") {
  CHECK(shell_quoted("") == "''");
  CHECK(shell_quoted("it's") == "'it'\\''s'");
  CHECK(shell_quoted("'") == "''\\'''");
  CHECK(shell_quoted("a\nb\\$`\"") == "'a\nb\\$`\"'");
  for (const char* word : {"a;b", "a&b", "a|b", "a*", "a?", "[a]", "{a}", "(a)", "a<b", "#a", "!a",
                           "a\"b", "a\\b", "a`b", "a\tb", "\xc3\xa4"})
    CHECK(shell_word(word) == "'" + std::string(word) + "'");
  for (const char* word : {"/usr/bin/python3", "a=b", "x@y:1,2", "50%", "+f", "--nnodes=1:2"})
    CHECK(shell_word(word) == word);
}

TEST_CASE("a size changes its unit where the next one begins", "[strings]") {
  CHECK(rough_size(0) == "0 bytes");
  CHECK(rough_size(1023) == "1023 bytes");
  CHECK(rough_size(1024) == "1 KiB");
  CHECK(rough_size(1023 * 1024) == "1023 KiB");
  CHECK(rough_size(1024 * 1024) == "1 MiB");
  CHECK(rough_size(std::uint64_t{1} << 30) == "1.0 GiB");
  CHECK(rough_size(~std::uint64_t{0}) == "17179869184.0 GiB");
}

TEST_CASE("a near word is at most a third of its letters away", "[nearest]") {
  constexpr std::array kWords{"collective"sv, "init"sv};
  CHECK(nearest("inti", kWords) == "init");  // two neighbours swapped are one mistake
  CHECK(nearest("int", kWords) == "init");
  CHECK(nearest("nt", kWords).empty());
  CHECK(nearest("colective", kWords) == "collective");
  CHECK(nearest("kollektife", kWords) == "collective");
  CHECK(nearest("kollektiif", kWords).empty());
  CHECK(nearest("init", {}).empty());
}

TEST_CASE("of words that are equally near the first is meant", "[nearest]") {
  constexpr std::array kWords{"aab"sv, "aac"sv};
  CHECK(nearest("aad", kWords) == "aab");
}

TEST_CASE("a text of kilobytes is no typing error", "[nearest]") {
  const std::string word(101, 'a');
  const std::string near = word.substr(1);
  const std::vector<std::string_view> words{near};
  CHECK(nearest(word, words).empty());
  CHECK(nearest(near, words) == near);
}

TEST_CASE("bytes are written as two hexadecimal digits each", "[strings]") {
  using std::string_view_literals::operator""sv;
  CHECK(to_hex("").empty());
  CHECK(to_hex("\0\x01\x7f\x80\xab\xff"sv) == "00017f80abff");
}

TEST_CASE("a number in digits has a digit, and nothing else", "[strings]") {
  for (const char* text : {"0", "007", "123456789012345678901234567890"}) CHECK(is_number(text));
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1.5", "0x1", "1a"})
    CHECK_FALSE(is_number(text));
}
