#include "safelaunch/report/run_files.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::report;

TEST_CASE("plain text loses colours, titles and clipboard writes", "[plain_text]") {
  CHECK(plain_text("\x1b[1;31mred\x1b[0m \x1b]0;title\aend \x1b]52;c;aGk=\x1b\\clip\x1b(B") ==
        "red end clip");
  CHECK(plain_text("a\x1b]0;never ends\nb") == "a\nb");
  CHECK(plain_text("cut off \x1b[") == "cut off ");
}

TEST_CASE("of a line that was drawn over the last state is left", "[plain_text]") {
  CHECK(plain_text("  1%\r 50%\r100%\ndone\r\n") == "100%\ndone\n");
  CHECK(plain_text("50%\r") == "50%");
}

TEST_CASE("what cannot be shown, or turns the direction, is marked", "[plain_text]") {
  CHECK(plain_text(std::string_view("a\0b", 3)) == "a\ufffdb");
  CHECK(plain_text("\xff\xfe x \xe2\x80\xae y") == "\ufffd\ufffd x \ufffd y");
  CHECK(plain_text("größer · 完\tx") == "größer · 完\tx");
}

TEST_CASE("a line of ten megabytes is no trouble", "[plain_text]") {
  const std::string line(10'000'000, '\x1b');
  CHECK(plain_text(line).empty());
}
