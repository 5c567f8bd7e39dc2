#include "safelaunch/base/paper.h"

#include "catch.h"

using namespace safelaunch;

TEST_CASE("a paper without colour gets the words alone", "[paper]") {
  const std::string text = inked(Ink::fault, "hung:") + " rank 1";
  CHECK(text == "\x1b[1;31mhung:\x1b[0m rank 1");
  CHECK(laid_out(text, {}) == "hung: rank 1");
  CHECK(laid_out(text, {0, true}) == text);
  CHECK(inked(Ink::dim, "").empty());
}

TEST_CASE("a long line goes on further in than it began", "[paper]") {
  CHECK(laid_out("  rank 0 waited for it", {12, false}) == "  rank 0\n    waited\n    for it");
  CHECK(laid_out("short", {12, false}) == "short");
  CHECK(laid_out("hung: rank 1 never\n  came", {12, false}) == "hung: rank 1\n  never\n  came");
}

TEST_CASE("a long line of columns goes on below its last column", "[paper]") {
  CHECK(laid_out("  a  one two three four", {16, false}) == "  a  one two\n     three four");
  // Where that is beyond the middle, below its indent.
  CHECK(laid_out("  long name  one two", {16, false}) == "  long name  one\n    two");
}

TEST_CASE("ink takes no room, and a broken line keeps it", "[paper]") {
  const std::string text = inked(Ink::bold, "one two") + " three";
  CHECK(laid_out(text, {13, true}) == text);
  CHECK(laid_out(text, {9, true}) == "\x1b[1mone two\x1b[0m\n  three");
}

TEST_CASE("a word that is longer than the line stands alone", "[paper]") {
  CHECK(laid_out("see /a/very/long/path now", {10, false}) == "see\n  /a/very/long/path\n  now");
}

TEST_CASE("quoted lines and those with tabs stay whole", "[paper]") {
  CHECK(laid_out("  | ValueError: a long line", {10, false}) == "  | ValueError: a long line");
  CHECK(laid_out("a\tb and more words", {10, false}) == "a\tb and more words");
}

TEST_CASE("Chinese is two columns wide, and breaks between characters but before no full stop",
          "[paper]") {
  CHECK(columns(inked(Ink::help, "卡住") + " ok") == 7);
  CHECK(laid_out("第一个进程没有来", {10, false}) == "第一个进程\n  没有来");
  CHECK(laid_out("第一个进程。好", {10, false}) == "第一个进\n  程。好");
}

TEST_CASE(
    "whether a stream takes ink: the wish, NO_COLOR, FORCE_COLOR, the terminal, in that order",
    "[paper]") {
  const Environment none;
  CHECK(takes_ink(ColourWish::automatic, true, none));
  CHECK_FALSE(takes_ink(ColourWish::automatic, false, none));
  CHECK_FALSE(takes_ink(ColourWish::automatic, true, {{"NO_COLOR", "1"}}));
  CHECK(takes_ink(ColourWish::automatic, true, {{"NO_COLOR", ""}}));
  CHECK_FALSE(takes_ink(ColourWish::automatic, true, {{"TERM", "dumb"}}));
  CHECK(takes_ink(ColourWish::automatic, false, {{"CLICOLOR_FORCE", "1"}}));
  CHECK(takes_ink(ColourWish::automatic, false, {{"FORCE_COLOR", "3"}}));
  CHECK_FALSE(takes_ink(ColourWish::automatic, false, {{"CLICOLOR_FORCE", "0"}}));
  CHECK_FALSE(takes_ink(ColourWish::automatic, false, {{"FORCE_COLOR", "1"}, {"NO_COLOR", "1"}}));
  CHECK(takes_ink(ColourWish::always, false, {{"NO_COLOR", "1"}}));
  CHECK_FALSE(takes_ink(ColourWish::never, true, {{"FORCE_COLOR", "1"}}));
}

TEST_CASE("our own lines say whose they are, and how bad it is, in ink", "[paper]") {
  CHECK(laid_out(from_us("warning: x"), {}) == "safelaunch: warning: x");
  CHECK(from_us("warning: x") == "\x1b[2msafelaunch:\x1b[0m \x1b[33mwarning:\x1b[0m x");
  CHECK(from_us("x warning: y") == "\x1b[2msafelaunch:\x1b[0m x warning: y");
}

TEST_CASE("a text is wrapped at blanks, below the column where it begins", "[paper]") {
  CHECK(wrapped("one two three", 2, 10) == "one two\n  three");
  CHECK(wrapped("one", 2, 4) == "one");
  CHECK(wrapped("a longestword b", 0, 5) == "a\nlongestword\nb");
  CHECK(wrapped("", 2).empty());
}

TEST_CASE("text is wrapped at the column before the width", "[paper]") {
  CHECK(wrapped("ab cd", 0, 5) == "ab cd");
  CHECK(wrapped("ab cde", 0, 5) == "ab\ncde");
  CHECK(wrapped("a  b", 0, 80) == "a  b");
}

TEST_CASE("a Chinese character takes two columns", "[paper]") {
  CHECK(columns("rank 1") == 6);
  CHECK(columns("卡住 1") == 6);
  CHECK(columns("é") == 1);
  CHECK(columns("") == 0);
}

TEST_CASE("Chinese text is wrapped by columns, never within a character", "[paper]") {
  CHECK(wrapped("一二三四五", 0, 6) == "一二三\n四五");
  CHECK(wrapped("一二三四五", 0, 7) == "一二三\n四五");
  CHECK(wrapped("用 NCCL 的共享内存", 2, 10) == "用 NCCL\n  的共享内\n  存");
}

TEST_CASE("a closing mark does not begin a line, an opening one does not end it", "[paper]") {
  CHECK(wrapped("一二三。四", 0, 6) == "一二\n三。四");
  CHECK(wrapped("一二（三）", 0, 6) == "一二\n（三）");
}
