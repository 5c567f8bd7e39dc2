#include "safelaunch/base/source_place.h"

#include "catch.h"

using namespace safelaunch;

TEST_CASE("a place ends behind its line, whatever blanks the name of the file has",
          "[source_place]") {
  CHECK(source_place("train.py:48 load → wait") == "train.py:48");
  CHECK(source_place("my train.py:6 <module>") == "my train.py:6");
  CHECK(source_place("my train.py:6 in load  (rank 1)") == "my train.py:6");
  CHECK(source_place("训练 脚本.py:6 <module> → forward → layers.py:9 fwd") == "训练 脚本.py:6");
  CHECK(source_place("a:1 b.py:12 load") == "a:1 b.py:12");
  CHECK(source_place("my train.py:6") == "my train.py:6");
}

TEST_CASE("a place without a line is its first word", "[source_place]") {
  CHECK(source_place("poll on a socket") == "poll");
  CHECK(source_place("a.py:x load").starts_with("a.py:x"));
  CHECK(source_place("").empty());
}
