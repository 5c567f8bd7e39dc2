#include "launcher/output/escape_filter.h"

#include <string>

#include "catch.h"
#include "random_splits.h"

using namespace safelaunch;

using namespace safelaunch::output;
using namespace std::string_literals;
using testing::split_randomly;

namespace {

std::string filtered(std::string_view bytes) {
  EscapeFilter filter;
  std::string safe;
  filter.pass(bytes, safe);
  filter.finish(safe);
  return safe;
}

}  // namespace

TEST_CASE("text, colours and motion within the line pass as they are", "[escape_filter]") {
  for (const std::string& text :
       {"loss 0.25\n"s, "\x1b[31;1mred\x1b[0m\n"s, "\x1b[38;5;196mred\x1b[m"s,
        "\r 50%|█████▌   |\x1b[K"s, "\x1b[1G\x1b[12C\x1b[2D"s, "naïve — 日本語 🚀\t✓\r\n"s}) {
    INFO(text);
    CHECK(filtered(text) == text);
  }
}

TEST_CASE("what could take over a terminal is shown as text", "[escape_filter]") {
  CHECK(filtered("\x1b]0;pwned\x07") == "^[]0;pwned^G");                  // window title
  CHECK(filtered("\x1b]52;c;cm0gLXJm\x1b\\") == "^[]52;c;cm0gLXJm^[\\");  // clipboard
  CHECK(filtered("\x1b[2J\x1b[1;1H") == "^[[2J^[[1;1H");                  // the whole screen
  CHECK(filtered("\x1b[A\x1b[6n\x1b[?1049h") == "^[[A^[[6n^[[?1049h");
  CHECK(filtered("\x1b"
                 "c") == "^[c");  // reset
  CHECK(filtered("\x1bP+q\x1b\\") == "^[P+q^[\\");
  CHECK(filtered("\x0e\x08\x0b\x7f\x05") == "^N^H^K^?^E");
}

TEST_CASE("a C1 control is shown as text, as a byte and as UTF-8 encodes it", "[escape_filter]") {
  CHECK(filtered("\x9b"
                 "2J") == "\\x9b2J");
  CHECK(filtered("\xc2\x9b"
                 "2J") == "\\x9b2J");
  CHECK(filtered("\xc2\x9d"
                 "0;x") == "\\x9d0;x");
}

TEST_CASE("NULs and broken UTF-8 are shown as text", "[escape_filter]") {
  CHECK(filtered("a\0b"s) == "a^@b");
  CHECK(filtered("\xff\xfe") == "\\xff\\xfe");
  CHECK(filtered("\xc0\xaf") == "\\xc0\\xaf");           // an overlong '/'
  CHECK(filtered("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
  CHECK(filtered("\xe6\x97") == "\\xe6\\x97");           // cut at the end
  CHECK(filtered("\xe6\x97x") == "\\xe6\\x97x");
}

TEST_CASE("a sequence that never ends is given up and cannot swallow what follows",
          "[escape_filter]") {
  const std::string endless = "\x1b[" + std::string(500, '1');
  CHECK(filtered(endless + "m") == "^[[" + std::string(500, '1') + "m");
  CHECK(filtered("\x1b[3") == "^[[3");
  CHECK(filtered("\x1b") == "^[");
}

TEST_CASE("it does not matter where the bytes are split", "[escape_filter]") {
  const std::string text =
      "plain \x1b[31mred\x1b[0m \x1b]0;title\x07 日本語\xc2\x9b \xff\xe6\x97 🚀 \x1b[?25l\0 \x1b[999K\n"s;
  const std::string whole = filtered(text);
  for (unsigned seed = 0; seed < 500; ++seed) {
    EscapeFilter filter;
    std::string safe;
    for (const auto piece : split_randomly(text, seed, 1 + seed % 9)) filter.pass(piece, safe);
    filter.finish(safe);
    REQUIRE(safe == whole);
  }
}

TEST_CASE("no random bytes get an escape through that is not on the list", "[escape_filter]") {
  std::mt19937 random(7);
  const std::string alphabet = "\x1b\x1b[]0;?mKGHJ\x9b\xc2\x9d\x07\r\n A"s;
  std::uniform_int_distribution<std::size_t> pick(0, alphabet.size() - 1);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += alphabet[pick(random)];
    const std::string safe = filtered(text);
    for (std::size_t at = safe.find('\x1b'); at != safe.npos; at = safe.find('\x1b', at + 1)) {
      const std::size_t length = harmless_sequence(std::string_view(safe).substr(at));
      REQUIRE((length > 0 && length != std::string_view::npos));
    }
    REQUIRE(safe.find('\x9b') == safe.npos);
  }
}

TEST_CASE("the end of a sequence tells whether it is harmless", "[escape_filter]") {
  for (const char* text : {"\x1b[m", "\x1b[0m", "\x1b[1;31m", "\x1b[38:5:1m", "\x1b[K", "\x1b[9G",
                           "\x1b[9C", "\x1b[9D"})
    CHECK(harmless_sequence(text + std::string("rest")) == std::string_view(text).size());
  for (const char* text : {"\x1b[A", "\x1b[?25l", "\x1b[ m", "\x1b[>m", "\x1b[1;1H", "\x1b]0;",
                           "\x1bP", "\x1b\x1b[m", "\x1b[\x1b"}) {
    INFO(text);
    CHECK(harmless_sequence(text + std::string("rest")) == 0);
  }
  for (const char* text : {"\x1b", "\x1b[", "\x1b[3", "\x1b[31;"})
    CHECK(harmless_sequence(text) == std::string_view::npos);
}

TEST_CASE("a sequence is waited for as long as it may be harmless, and no longer",
          "[escape_filter]") {
  const std::string longest = "\x1b[" + std::string(EscapeFilter::kLongestHeld - 3, '1');
  CHECK(harmless_sequence(longest) == std::string_view::npos);
  CHECK(harmless_sequence(longest + "m") == longest.size() + 1);
  CHECK(harmless_sequence(longest + "1") == 0);
}

TEST_CASE("what is held at the end is shown as text", "[escape_filter]") {
  CHECK(filtered("a\x1b") == "a^[");
  CHECK(filtered("a\x1b[31") == "a^[[31");
  CHECK(filtered("a\xe6\x97") == "a\\xe6\\x97");
  EscapeFilter filter;
  std::string safe;
  filter.pass("\x1b[3", safe);
  CHECK(safe.empty());
  filter.finish(safe);
  filter.pass("1m", safe);
  CHECK(safe == "^[[31m");
}
