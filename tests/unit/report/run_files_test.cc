#include "safelaunch/report/run_files.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "scratch.h"

using namespace safelaunch;

using namespace safelaunch::report;
using namespace safelaunch::testing;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> names(const report::RunFiles& files) {
  std::vector<std::string> result;
  for (const report::RecordedFile& file : files.files) result.push_back(file.name);
  return result;
}

}  // namespace

TEST_CASE("only what safelaunch writes is read", "[run_files]") {
  const ScratchFolder run;
  for (const char* name : {"job.json", "events.jsonl", "outcome.json", "attempt-1-basic/env.diff",
                           "attempt-1-basic/rank-0.out", "attempt-1-basic/nccl.node1.71",
                           "attempt-1-basic/evidence/rank-0.stack"})
    run.write(name, "x");
  for (const char* name : {"train.py", "id_rsa", "attempt-1-basic/model.bin",
                           "attempt-1-basic/evidence/a/b", "checkpoints/rank-0.out"})
    run.write(name, "x");
  CHECK(names(report::read_run_files(run.path)) ==
        std::vector<std::string>{"attempt-1-basic/env.diff",
                                 "attempt-1-basic/evidence/rank-0.stack",
                                 "attempt-1-basic/nccl.node1.71", "attempt-1-basic/rank-0.out",
                                 "events.jsonl", "job.json", "outcome.json"});
}

TEST_CASE("links and pipes are passed over", "[run_files]") {
  const ScratchFolder run;
  run.write("secret", "x");
  fs::create_symlink(run.path / "secret", run.path / "job.json");
  REQUIRE(mkfifo((run.path / "events.jsonl").c_str(), 0600) == 0);
  CHECK(report::read_run_files(run.path).files.empty());
  CHECK(report::read_run_files(run.path / "none").files.empty());
}

TEST_CASE("of a huge log the last lines are read, and what is left out is counted", "[run_files]") {
  const ScratchFolder run;
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "line " + std::to_string(i) + "\n";
  run.write("attempt-1-basic/rank-0.out", text);
  report::ReadLimits limits;
  limits.log = 1'000;
  const report::RecordedFile log = report::read_run_files(run.path, limits).files.at(0);
  CHECK(log.text.starts_with("line "));
  CHECK(log.text.ends_with("line 9999\n"));
  CHECK(log.text.size() <= 1'000);
  CHECK(log.left_out == text.size() - log.text.size());
}

TEST_CASE("half a secret at the cut is not read", "[run_files]") {
  const ScratchFolder run;
  run.write("attempt-1-basic/rank-0.out",
            std::string(5'000, 'x') + "HF_TOKEN=" + std::string(100, 'a') + "MIDDLE" +
                std::string(500, 'b') + " end of line " + std::string(400, 'c') + "\n");
  report::ReadLimits limits;
  limits.log = 1'000;
  CHECK_FALSE(contains(report::read_run_files(run.path, limits).files.at(0).text, "b end"));
}

TEST_CASE("a thousand ranks share what there is for logs", "[run_files]") {
  const ScratchFolder run;
  for (int i = 0; i < 100; ++i)
    run.write("attempt-1-basic/rank-" + std::to_string(i) + ".out", std::string(10'000, '\n'));
  report::ReadLimits limits;
  limits.logs = 300'000;
  const report::RunFiles files = report::read_run_files(run.path, limits);
  CHECK(files.files.size() == 100);
  CHECK(files.files.at(0).text.size() <= 3'000);
}

TEST_CASE("cleaned JSON is JSON still, and secrets of one file are gone from all", "[run_files]") {
  report::RunFiles files;
  add(files, "events.jsonl",
      R"({"t":0.1,"e":"attempt","command":["a","--password","hunter2hunter2"],"n":[1,2]})"
      "\n"
      R"({"t":0.2,"e":"sta)");
  add(files, "job.json", R"({"pid":7,"hf_token":"tok3n-t0k3n","text":"\u001b[31mred"})");
  add(files, "attempt-1-basic/rank-0.out", "said hunter2hunter2 and tok3n-t0k3n and value6789\n");
  const report::RunFiles clean = report::cleaned(files, {{"MY_SECRET", "value6789"}});
  CHECK(clean.text("attempt-1-basic/rank-0.out") ==
        "said [redacted] and [redacted] and [redacted]\n");
  const auto job = nlohmann::json::parse(clean.text("job.json"));
  CHECK(job["pid"] == 7);
  CHECK(job["hf_token"] == "[redacted]");
  CHECK(job["text"] == "red");
  const std::string_view events = clean.text("events.jsonl");
  const auto event = nlohmann::json::parse(events.substr(0, events.find('\n')));
  CHECK(event["command"] == nlohmann::json::array({"a", "--password", "[redacted]"}));
  CHECK(event["n"] == nlohmann::json::array({1, 2}));
  CHECK(contains(events, R"({"t":0.2,"e":"sta)"));
}
