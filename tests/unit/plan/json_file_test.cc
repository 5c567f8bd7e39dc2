#include "safelaunch/plan/json_file.h"

#include <fstream>
#include <sstream>

#include "catch.h"
#include "safelaunch/report/summary.h"
#include "temporary_folder.h"

using namespace safelaunch;
using namespace safelaunch::plan;
using safelaunch::testing::TemporaryFolder;

namespace {

std::string named_by(const char* value) {
  settings::RunOptions options;
  options.given["json"] = {value, "--json"};
  return json_file(options).native();
}

std::string refusal(const Result<void>& result) {
  return result.has_error() ? result.error().message : "done";
}

std::string text_in(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a word of a flag names no file for the JSON, and every other text does", "[json_file]") {
  for (const char* word : {"true", "on", "yes", "1", "false", "off", "no", "0"})
    CHECK(named_by(word).empty());
  for (const char* file : {"plan.json", "/tmp/x", "./true", "True", "2", "-"})
    CHECK(named_by(file) == file);
  CHECK(json_file({}).empty());
}

TEST_CASE("a file for the JSON is new, empty, or an earlier report or plan", "[json_file]") {
  const TemporaryFolder folder;
  report::RunSummary summary;
  summary.run_id = "r1";
  summary.command = {"true"};
  const std::string report = report::outcome_json(summary);
  for (const auto& file :
       {folder / "new.json", folder.write("empty", ""), folder.write("old.json", report),
        folder.write("plan.json", R"({"command": ["true"], "launcher": "command", "nodes": 1})"),
        std::string("/dev/null")}) {
    INFO(file);
    CHECK(refusal(check_json_file(file)) == "done");
    CHECK(refusal(write_json(file, "{}\n")) == "done");
  }
  CHECK(text_in(folder / "new.json") == "{}\n");
  CHECK(text_in(folder / "old.json") == "{}\n");
  CHECK(refusal(check_json_file({})) == "done");
}

TEST_CASE("a file that holds something else is not overwritten, the user's own JSON least of all",
          "[json_file]") {
  const TemporaryFolder folder;
  for (const char* text :
       {"#!/bin/sh\n", " {}", "[1]", "x", R"({"train_batch_size": 8, "fp16": {}})",
        R"({"command": ["python", "train.py"]})", R"({"run": "a", "launcher": "b"})",
        R"({"run": "a", "command": [], "exit_st)"}) {
    const std::string file = folder.write("mine", text);
    const std::string expected =
        "--json=" + file + ": exists and is no safelaunch report; it was left as it is";
    CHECK(refusal(check_json_file(file)) == expected);
    CHECK(refusal(write_json(file, "{}")) == expected);
    CHECK(text_in(file) == text);
  }
}

TEST_CASE("a place that cannot be written to is told before the job begins", "[json_file]") {
  const TemporaryFolder folder;
  CHECK(refusal(check_json_file(folder / ".")) == "--json=" + folder / "." + ": Is a directory");
  CHECK(refusal(check_json_file(folder / "none/x.json")) ==
        "--json=" + folder / "none/x.json" + ": No such file or directory");
  CHECK(check_json_file(folder / "none/x.json").error().code == Errc::usage);
  CHECK(refusal(write_json("/dev/full", "{}")) == "--json=/dev/full: No space left on device");
}

TEST_CASE("the JSON of a run is for its user alone", "[json_file]") {
  const TemporaryFolder folder;
  REQUIRE(write_json(folder / "x.json", "{}").has_value());
  CHECK(std::filesystem::status(folder / "x.json").permissions() == std::filesystem::perms(0600));
}
