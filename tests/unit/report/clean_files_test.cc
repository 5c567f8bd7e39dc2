#include <nlohmann/json.hpp>

#include "catch.h"
#include "scratch.h"

using namespace safelaunch;
using namespace safelaunch::report;
using namespace safelaunch::testing;

namespace {

constexpr const char* kLog = "attempt-1-basic/rank-0.out";

std::string cleaned_text(const std::string& name, const std::string& text,
                         const Environment& environment = {}) {
  RunFiles files;
  add(files, name, text);
  return std::string(cleaned(files, environment).text(name));
}

}  // namespace

TEST_CASE("a torn line of a record is cleaned as text, with what other files give away",
          "[clean_files]") {
  RunFiles files;
  add(files, "events.jsonl",
      R"({"e":"run","command":["a","--password","hunter2hunter2"]})"
      "\n"
      R"({"e":"notice","text":"uses hunter2hun)"
      R"(ter2 and)");
  const std::string text(cleaned(files, {}).text("events.jsonl"));
  CHECK_FALSE(contains(text, "hunter2hunter2"));
  CHECK(contains(text, "uses [redacted] and"));
}

TEST_CASE("a record stays one event a line, and another document is indented", "[clean_files]") {
  CHECK(cleaned_text("events.jsonl", "{\"a\":1}\n{\"b\":[2]}\n") == "{\"a\":1}\n{\"b\":[2]}\n");
  CHECK(cleaned_text("job.json", R"({"a":1})") == "{\n  \"a\": 1\n}\n");
}

TEST_CASE("escape sequences leave logs and the texts of JSON alike", "[clean_files]") {
  CHECK(cleaned_text(kLog, "\x1b[31mred\x1b[0m\n") == "red\n");
  CHECK(contains(cleaned_text("events.jsonl", R"({"text":["\u001b[31mred"]})"), R"(["red"])"));
}

TEST_CASE("a secret of the environment is gone from a file's name as well", "[clean_files]") {
  RunFiles files;
  add(files, "attempt-1-basic/rank-0.value6789", "says value6789");
  const RunFiles clean = cleaned(files, {{"MY_SECRET", "value6789"}});
  CHECK(clean.files.at(0).name == "attempt-1-basic/rank-0.[redacted]");
  CHECK(clean.files.at(0).text == "says [redacted]");
}

TEST_CASE("a member's name, or the name that stands beside a value, makes it a secret",
          "[clean_files]") {
  const auto json = nlohmann::json::parse(cleaned_text("job.json", R"({
    "env": [{"name": "DB_PASSWORD", "value": "correct-horse-9"}, {"name": "HOME", "value": "/h"}],
    "api_key": {"live": "sk-battery-staple-1"}})"));
  CHECK(json["env"][0]["value"] == "[redacted]");
  CHECK(json["env"][1]["value"] == "/h");
  CHECK(json["api_key"]["live"] == "[redacted]");
}

TEST_CASE("JSON that is nested too deep to be walked through is cleaned as text", "[clean_files]") {
  const std::string deep = std::string(10'000, '[') + "\x1b[31m" + std::string(10'000, ']');
  const std::string text = cleaned_text("job.json", deep);
  CHECK(text.size() == 20'001);
  CHECK_FALSE(contains(text, "\x1b"));
}

TEST_CASE("bytes that are no UTF-8 do not spoil the files", "[clean_files]") {
  CHECK(cleaned_text(kLog, "a\xff\n") == "a\ufffd\n");
}
