#include "safelaunch/base/time.h"

#include <utility>
#include <vector>

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
  const std::vector<std::pair<Duration, std::string>> written{
      {0ms, "0s"},      {1ms, "1ms"},        {400ms, "400ms"},
      {999ms, "999ms"}, {1s, "1s"},          {1001ms, "1.001s"},
      {1500ms, "1.5s"}, {180s, "180s"},      {599s, "599s"},
      {10min, "10min"}, {605s, "605s"},      {30min, "30min"},
      {59min, "59min"}, {1h, "1h"},          {90min, "1h30min"},
      {3601s, "3601s"}, {90'061s, "90061s"}, {25h + 1min, "25h1min"},
      {168h, "168h"}};
  for (const auto& [duration, text] : written) {
    CHECK(format_duration(duration) == text);
    CHECK(parse_duration(text).value() == duration);
  }
}

TEST_CASE("a duration of several units is their sum, the largest unit first", "[time]") {
  CHECK(parse_duration("1h30min").value() == 90min);
  CHECK(parse_duration("1d2h3m4s5ms").value() == 26h + 3min + 4005ms);
  for (const char* word : {"30min1h", "1h1h", "1h1m1min", "1h30", "0h30", "1h-30min", "1h 30min",
                           "1h30min ", "h30min", "6d24h1s"}) {
    INFO(word);
    CHECK(parse_duration(word).has_error());
  }
}

TEST_CASE("a week is the longest duration", "[time]") {
  CHECK(parse_duration("7d").value() == 168h);
  CHECK(parse_duration("168h").value() == 168h);
  CHECK(parse_duration("604800.001").has_error());
}

TEST_CASE("a part of a millisecond is rounded", "[time]") {
  CHECK(parse_duration("0.4ms").value() == 0ms);
  CHECK(parse_duration("0.0015s").value() == 2ms);
  CHECK(parse_duration("1e3ms").value() == 1s);
}

TEST_CASE("the error of a duration shows the word and the units", "[time]") {
  const Error error = parse_duration("5parsecs").error();
  CHECK(error.code == Errc::usage);
  CHECK(error.message ==
        "'5parsecs' is not a duration: write a number and ms, s, min, h or d, such as 90s or 30min "
        "(0 or off: none)");
}

TEST_CASE("what took a while is rounded to the unit in which it is told", "[time]") {
  const std::vector<std::pair<Duration, std::string>> told{
      {49ms, "0s"},        {50ms, "0.1s"},       {949ms, "0.9s"}, {950ms, "1s"},
      {1049ms, "1s"},      {9949ms, "9.9s"},     {9950ms, "10s"}, {59'499ms, "59s"},
      {599'499ms, "599s"}, {599'500ms, "10min"}, {629s, "10min"}, {630s, "11min"},
      {3599s, "1h"}};
  for (const auto& [duration, text] : told) CHECK(describe_duration(duration) == text);
}

TEST_CASE("a time of the record is shown in this host's zone, and the zone is named", "[time]") {
  const auto in_zone = [](const char* zone) {
    const char* before = ::getenv("TZ");
    const std::string kept = before == nullptr ? "" : before;
    ::setenv("TZ", zone, 1);
    ::tzset();
    const std::string told = local_time("2026-11-21T23:06:53.722Z");
    before == nullptr ? ::unsetenv("TZ") : ::setenv("TZ", kept.c_str(), 1);
    ::tzset();
    return told;
  };
  CHECK(in_zone("UTC0") == "2026-11-21 23:06:53 UTC");
  CHECK(in_zone("CST-8") == "2026-11-22 07:06:53 CST (UTC+08:00)");
  CHECK(in_zone("NST3:30") == "2026-11-21 19:36:53 NST (UTC-03:30)");
}

TEST_CASE("the time of the record is ISO 8601 in UTC, to the millisecond", "[time]") {
  std::string shape = wall_time_now();
  for (char& c : shape)
    if (c >= '0' && c <= '9') c = '0';
  CHECK(shape == "0000-00-00T00:00:00.000Z");
}

TEST_CASE("an age is said in its largest unit") {
  CHECK(rough_age(900ms) == "0s");
  CHECK(rough_age(59s) == "59s");
  CHECK(rough_age(12min + 59s) == "12min");
  CHECK(rough_age(47h) == "47h");
  CHECK(rough_age(50h) == "2 days");
}

TEST_CASE("an age changes its unit where the next one is full") {
  CHECK(rough_age(60s) == "1min");
  CHECK(rough_age(1h - 1ms) == "59min");
  CHECK(rough_age(1h) == "1h");
  CHECK(rough_age(48h) == "2 days");
}
