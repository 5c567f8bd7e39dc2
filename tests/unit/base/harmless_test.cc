#include "safelaunch/base/harmless.h"

#include "catch.h"

using namespace safelaunch;

TEST_CASE("text, colours, tabs and newlines of an answer stay", "[harmless]") {
  const std::string text = "\x1b[1;31merror\x1b[0m\tgrüße 你好\n";
  CHECK(harmless(text) == text);
}

TEST_CASE("no other control of a foreign text reaches the terminal", "[harmless]") {
  CHECK(harmless("\x1b]0;title\a") == "^[]0;title^G");
  CHECK(harmless("\x1b[2J\x1b[K") == "^[[2J^[[K");
  CHECK(harmless("hidden\rshown\b\x7f") == "hidden^Mshown^H^?");
  CHECK(harmless(std::string("a\0b", 3)) == "a^@b");
}

TEST_CASE("C1 controls and turns of the reading direction are shown", "[harmless]") {
  CHECK(harmless("a\u009b2Jb\u202ec\u2066d\u200fe") == "a<U+009B>2Jb<U+202E>c<U+2066>d<U+200F>e");
}

TEST_CASE("broken UTF-8 is shown byte by byte", "[harmless]") {
  CHECK(harmless("a\x9b"
                 "b\xe2\x82") ==
        "a\\x9b"
        "b\\xe2\\x82");
}

TEST_CASE("an answer without anything in it is nothing", "[harmless]") {
  CHECK(harmless("").empty());
}

TEST_CASE("only a whole colour passes as one", "[harmless]") {
  struct Row {
    std::string_view what;
    std::string_view text;
    std::string_view shown;
  };
  for (const Row& row :
       {Row{"reset", "\x1b[m", "\x1b[m"}, Row{"many numbers", "\x1b[38;5;196m", "\x1b[38;5;196m"},
        Row{"cut off", "\x1b[1;3", "^[[1;3"}, Row{"alone", "\x1b", "^["},
        Row{"begun", "\x1b[", "^[["}, Row{"a cursor", "\x1b[1;1H", "^[[1;1H"},
        Row{"private", "\x1b[?25l", "^[[?25l"}, Row{"doubled", "\x1b\x1b[0m", "^[\x1b[0m"},
        Row{"a string", "\x1bP1$r\x1b\\", "^[P1$r^[\\"}}) {
    INFO(row.what);
    CHECK(harmless(row.text) == row.shown);
  }
}

TEST_CASE("every control below the blank is shown but newline and tab", "[harmless]") {
  for (char control = 1; control < 0x20; ++control) {
    const std::string text(1, control);
    INFO(static_cast<int>(control));
    const bool stays = control == '\n' || control == '\t';
    CHECK(harmless(text) == (stays ? text : std::string("^") + static_cast<char>(control + 0x40)));
  }
}

TEST_CASE(
    "every sign that turns the reading direction is shown, and its neighbours are not touched",
    "[harmless]") {
  for (const char* sign : {"\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d",
                           "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"})
    CHECK(harmless(sign).starts_with("<U+"));
  for (const char* near : {"\u061b", "\u061d", "\u200c", "\u200d", "\u2010", "\u2027", "\u202f",
                           "\u2065", "\u206a", "\u00a0"})
    CHECK(harmless(near) == near);
}

TEST_CASE("a sign without a width, or one that ends a line, is shown", "[harmless]") {
  for (const char* sign : {"\u00ad", "\u180e", "\u200b", "\u2028", "\u2029", "\u2060", "\u2064",
                           "\ufeff", "\U000e0001", "\U000e007f"})
    CHECK(harmless(sign).starts_with("<U+"));
  CHECK(harmless("👩\u200d💻") == "👩\u200d💻");
}

TEST_CASE("what has the form of a code point and is none is shown byte by byte", "[harmless]") {
  struct Row {
    std::string_view what;
    std::string_view text;
    std::string_view shown;
  };
  for (const Row& row :
       {Row{"overlong", "\xc0\xaf", "\\xc0\\xaf"},
        Row{"a surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80"},
        Row{"beyond Unicode", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
        Row{"cut off", "\xf0\x9f\x98", "\\xf0\\x9f\\x98"}, Row{"a tail alone", "\xbf", "\\xbf"}}) {
    INFO(row.what);
    CHECK(harmless(row.text) == row.shown);
  }
}

TEST_CASE("a colour sequence that hides text is shown, wherever its number stands", "[harmless]") {
  for (const char* numbers :
       {"8", "08", "0;8", "8;0", "1;8;31", "38;5;1;8", "38;2;1;2;3;8", ";8"}) {
    INFO(numbers);
    CHECK(harmless("\x1b[" + std::string(numbers) + "mx") == "^[[" + std::string(numbers) + "mx");
  }
  for (const char* numbers :
       {"38;5;8", "48;5;8", "38;2;8;8;8", "1;38;5;8;4", "18", "80", "28", ""}) {
    const std::string colour = "\x1b[" + std::string(numbers) + "mx";
    INFO(numbers);
    CHECK(harmless(colour) == colour);
  }
}

TEST_CASE("a colour sequence of any length is read in one go", "[harmless]") {
  const std::string many = "\x1b[" + std::string(200'000, ';') + "m";
  CHECK(harmless(many) == many);
  CHECK(harmless("\x1b[38;5mx") == "\x1b[38;5mx");
  CHECK(harmless("\x1b[38mx") == "\x1b[38mx");
  CHECK(harmless("\x1b[99999999999999999999mx") == "\x1b[99999999999999999999mx");
}
