#include "safelaunch/base/time.h"

#include "catch.h"

using namespace safelaunch;
using namespace std::chrono_literals;

TEST_CASE("durations are read with their units", "[time]") {
  CHECK(parse_duration("180s").value() == 180s);
  CHECK(parse_duration("30min").value() == 30min);
  CHECK(parse_duration("1.5m").value() == 90s);
  CHECK(parse_duration("500ms").value() == 500ms);
  CHECK(parse_duration("2h").value() == 2h);
  CHECK(parse_duration("45").value() == 45s);
  CHECK(parse_duration("0").value() == 0s);
  CHECK(parse_duration("off").value() == 0s);
}

TEST_CASE("a word that is no duration is refused by name", "[time]") {
  for (const char* word : {"", "s", "-5s", "10 s", "5x", "inf", "nan", "1e300s", "10sx"}) {
    INFO(word);
    REQUIRE(parse_duration(word).has_error());
    CHECK(parse_duration(word).error().message.find("is not a duration") != std::string::npos);
  }
}

TEST_CASE("what took a while is told as a person tells it", "[time]") {
  CHECK(describe_duration(0ms) == "0s");
  CHECK(describe_duration(7ms) == "0s");
  CHECK(describe_duration(380ms) == "0.4s");
  CHECK(describe_duration(6931ms) == "6.9s");
  CHECK(describe_duration(12348ms) == "12s");
  CHECK(describe_duration(185s) == "185s");
  CHECK(describe_duration(70min + 20s) == "1h10min");
}

TEST_CASE("a duration that is written reads back as the same", "[time]") {
  CHECK(format_duration(180s) == "180s");
  CHECK(format_duration(1800s) == "30min");
  CHECK(format_duration(90min) == "1h30min");
  CHECK(format_duration(400ms) == "400ms");
  CHECK(format_duration(1500ms) == "1.5s");
  for (const Duration d : {Duration(1), Duration(999), Duration(1001), Duration(605000)}) {
    INFO(d.count());
    if (format_duration(d).find("min") == std::string::npos)
      CHECK(parse_duration(format_duration(d)).value() == d);
  }
}

TEST_CASE("an age is said in its largest unit") {
  CHECK(rough_age(900ms) == "0s");
  CHECK(rough_age(59s) == "59s");
  CHECK(rough_age(12min + 59s) == "12min");
  CHECK(rough_age(47h) == "47h");
  CHECK(rough_age(50h) == "2 days");
}
