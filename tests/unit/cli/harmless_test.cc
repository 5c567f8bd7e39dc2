#include "launcher/cli/verbs.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::cli;

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
