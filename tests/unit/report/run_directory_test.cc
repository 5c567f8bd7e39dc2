#include "safelaunch/report/run_directory.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "catch.h"
#include "safelaunch/redact/redactor.h"
#include "safelaunch/report/event_log.h"

using namespace safelaunch;

using namespace safelaunch::report;
namespace fs = std::filesystem;

namespace {

// A folder of the test's own, gone at its end.
struct Scratch {
  Scratch() {
    char pattern[] = "/tmp/safelaunch-test-XXXXXX";
    path = mkdtemp(pattern);
  }
  ~Scratch() { fs::remove_all(path); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  fs::path path;
};

std::string read(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("a run has its own private folder below the state directory", "[run_directory]") {
  const Scratch scratch;
  const auto run = RunDirectory::create({}, "r1", {{"XDG_STATE_HOME", scratch.path}}).value();
  CHECK(run.path() == scratch.path / "safelaunch/runs/r1");
  struct stat facts {};
  REQUIRE(stat(run.path().c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0700);
  CHECK(run.attempt(2, "no-shm") == run.path() / "attempt-2-no-shm");
}

TEST_CASE("without a HOME the run is kept in the temporary directory", "[run_directory]") {
  const Scratch scratch;
  const auto run = RunDirectory::create({}, "r1", {{"TMPDIR", scratch.path}}).value();
  CHECK(run.path().native().starts_with(scratch.path.native()));
  CHECK(run.trouble().empty());
}

TEST_CASE("where nothing can be written the run goes on and says so", "[run_directory]") {
  const auto run =
      RunDirectory::create({}, "r1", {{"HOME", "/proc/none"}, {"TMPDIR", "/proc/none"}}).value();
  CHECK(run.path().empty());
  CHECK(run.trouble().starts_with("nothing is recorded"));
  CHECK(run.attempt(1, "basic").empty());
}

TEST_CASE("a folder that the user named and that cannot be made is an error", "[run_directory]") {
  const auto run = RunDirectory::create("/proc/none/x", "r1", {});
  REQUIRE(run.has_error());
  CHECK(run.error().message.find("/proc/none/x") != std::string::npos);
}

TEST_CASE("a named folder in which no file can be made is refused, though root may write there",
          "[run_directory]") {
  for (const char* folder : {"/proc/none/x", "/proc/self", "/dev/null", "/dev/null/x"}) {
    INFO(folder);
    const auto made = make_named_folder("--log-dir", folder);
    REQUIRE(made.has_error());
    CHECK(made.error().code == Errc::os);
    CHECK(made.error().message.starts_with(std::string("--log-dir ") + folder +
                                           ": cannot be made or written: "));
    CHECK(RunDirectory::create(folder, "r1", {}).has_error());
  }
}

TEST_CASE("a named folder is made, and stays empty", "[run_directory]") {
  const Scratch scratch;
  REQUIRE(make_named_folder("--log-dir", scratch.path / "a/b").has_value());
  CHECK(fs::is_empty(scratch.path / "a/b"));
}

TEST_CASE("two runs never share one --run-dir", "[run_directory]") {
  const Scratch scratch;
  const Environment environment{{"XDG_STATE_HOME", scratch.path / "state"}};
  const auto first = RunDirectory::create(scratch.path / "run", "r1", environment).value();
  const auto second = RunDirectory::create(scratch.path / "run", "r2", environment).value();
  CHECK(first.path() == scratch.path / "run");
  CHECK(first.trouble().empty());
  CHECK(second.path() == scratch.path / "run/r2");
  CHECK(second.trouble().ends_with("run holds another run already; this one is kept in " +
                                   second.path().native()));
}

TEST_CASE("a run of --run-dir is linked from where runs are kept", "[run_directory]") {
  const Scratch scratch;
  const auto run =
      RunDirectory::create(scratch.path / "run", "r1", {{"XDG_STATE_HOME", scratch.path}}).value();
  CHECK(fs::read_symlink(scratch.path / "safelaunch/runs/r1") == run.path());
}

TEST_CASE("two runs of one second have different names", "[run_directory]") {
  CHECK(new_run_id() != new_run_id());
}

TEST_CASE("the record is one JSON object a line", "[event_log]") {
  const Scratch scratch;
  redact::Redactor redactor;
  EventLog log(scratch.path / "events.jsonl", Clock::now(), redactor);
  log.record(record::Run{"7", {"a", "b"}});
  log.set_attempt(1);
  log.record(record::Stage{3, "group", 71});
  const std::string text = read(scratch.path / "events.jsonl");
  CHECK(text.find(R"("e":"run","run":"7","command":["a","b"]})"
                  "\n") != std::string::npos);
  CHECK(text.find(R"("e":"stage","attempt":1,"rank":3,"stage":"group","pid":71})"
                  "\n") != std::string::npos);
}

TEST_CASE("a full disk ends the recording and nothing else", "[event_log]") {
  redact::Redactor redactor;
  EventLog log("/dev/full", Clock::now(), redactor);
  REQUIRE(log.ok());
  log.record(record::Run{});
  CHECK_FALSE(log.ok());
  log.record(record::Run{});
}
