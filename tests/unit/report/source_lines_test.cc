#include "launcher/report/excerpts.h"

#include <unistd.h>

#include "catch.h"
#include "recorded_runs.h"
#include "safelaunch/report/report.h"

using namespace safelaunch;
using namespace safelaunch::report;
using namespace safelaunch::testing;
using namespace std::chrono_literals;

namespace {

// A run that stood in line 2 of a file.
RunFiles stood_in(const ScratchFolder& run, const std::string& file) {
  run.write("attempt-1-basic/evidence/rank-0.stack",
            "thread MainThread (innermost last)\n  " + file + ":2 load\n");
  return read_run_files(run.path);
}

void set_age(const std::filesystem::path& file, std::chrono::seconds age) {
  std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - age);
}

}  // namespace

TEST_CASE("the line at which a rank stood is read from its source", "[source_lines]") {
  const ScratchFolder run;
  const std::string script = run.path / "my train.py";
  run.write("my train.py", "import time\n    time.sleep(3600)\n");
  set_age(script, 60s);
  RunFiles files = stood_in(run, script);
  add_sources(files);
  CHECK(read_sources(files.text(kSources)).at(script + ":2") == "time.sleep(3600)");
}

TEST_CASE("a place in the verdict has its line of source, if a blank is in the file's name too",
          "[source_lines]") {
  const ScratchFolder run;
  run.write("my train.py", "import time\n    time.sleep(3600)\n");
  Failure failure;
  failure.places = {"my train.py:2 in load → wait", "other.py:2 in load"};
  failure.missing.push_back({.rank = Rank{1},
                             .stack = "thread MainThread (innermost last)\n  " +
                                      (run.path / "my train.py").native() + ":2 load\n"});
  CHECK(with_source_lines(failure, run.path) ==
        std::vector<std::string>{"my train.py:2 in load → wait:  time.sleep(3600)",
                                 "other.py:2 in load"});
}

TEST_CASE("a name without a folder is one of the job's own folder", "[source_lines]") {
  const ScratchFolder run;
  run.write("train.py", "import time\ntime.sleep(3600)\n");
  set_age(run.path / "train.py", 60s);
  run.write("job.json", R"({"directory":")" + run.path.native() + R"("})");
  RunFiles files = stood_in(run, "train.py");
  add_sources(files);
  CHECK(read_sources(files.text(kSources)).at("train.py:2") == "time.sleep(3600)");
}

TEST_CASE("a source that was edited since shows no line, and neither does what is no Python file",
          "[source_lines]") {
  const ScratchFolder run;
  run.write("train.py", "one\ntwo\n");
  run.write("secret.txt", "one\ntwo\n");
  for (const char* file : {"train.py", "secret.txt", "none.py"}) {
    RunFiles files = stood_in(run, run.path / file);
    set_age(run.path / "attempt-1-basic/evidence/rank-0.stack", 60s);
    if (std::string(file) == "secret.txt") set_age(run.path / file, 120s);
    add_sources(files);
    INFO(file);
    CHECK(read_sources(files.text(kSources)).empty());
  }
}

TEST_CASE("a secret in a line of source is taken out of the page", "[source_lines]") {
  const ScratchFolder run;
  run.write("train.py",
            "import os\nos.environ['HF_TOKEN'] = 'hf_abcdefghijklmnopqrstuvwxyz012345'\n");
  set_age(run.path / "train.py", 60s);
  run.write("events.jsonl", R"({"t":1,"e":"attempt","attempt":1,"profile":"basic"})"
                            "\n");
  static_cast<void>(stood_in(run, run.path / "train.py"));
  const std::string page = html_report(parse_run(files_for_page(run.path, {})));
  CHECK(contains(page, "os.environ["));
  CHECK_FALSE(contains(page, "hf_abcdefghijklmnopqrstuvwxyz012345"));
}

TEST_CASE("only a frame of Python has a place", "[source_lines]") {
  CHECK(place_of_frame("  /a b/train.py:50 sleep") == "/a b/train.py:50");
  CHECK(place_of_frame("thread MainThread (innermost last)").empty());
  CHECK(place_of_frame("  <frozen runpy>:198 _run").empty());
  CHECK(place_of_frame("  ").empty());
  CHECK(place_of_frame("").empty());
}
