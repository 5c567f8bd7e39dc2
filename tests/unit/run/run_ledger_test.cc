#include "launcher/run/run_ledger.h"

#include <fstream>
#include <future>
#include <iterator>

#include "catch.h"
#include "launcher/run/host_account.h"
#include "temporary_folder.h"

using namespace safelaunch;
using namespace safelaunch::plan;
using namespace safelaunch::ranks;
using namespace safelaunch::run;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using safelaunch::testing::TemporaryFolder;

namespace {

/// The record of a run below a folder of the test's own.
struct Kept {
  TemporaryFolder folder;
  DiskQueue disk;
  RunLedger ledger{disk, Clock::now()};
  RunPlan plan;

  Kept() {
    plan.environment = {{"XDG_STATE_HOME", folder / "state"}};
    plan.options.command = {"torchrun", "train.py"};
    plan.chain_names = {"basic"};
  }
  [[nodiscard]] std::string text(const std::string& file) {
    REQUIRE(disk.drain(60s));
    std::ifstream in(ledger.directory() / file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

}  // namespace

TEST_CASE("a run is recorded from its beginning to its end", "[run_ledger]") {
  Kept run;
  REQUIRE(run.ledger.open(run.plan).has_value());
  CHECK(run.ledger.trouble().empty());
  run.ledger.note({"shm-small", Severity::risk, "64 MiB", "more"});
  report::AttemptSummary attempt;
  attempt.profile = "basic";
  run.ledger.add(attempt);
  run.ledger.close(3, "1 attempt was made", run.plan);
  const std::string events = run.text("events.jsonl");
  CHECK_THAT(events, ContainsSubstring("\"e\":\"run\"") && ContainsSubstring("\"e\":\"finding\""));
  CHECK_THAT(events, ContainsSubstring("\"e\":\"end\""));
  const auto outcome = report::read_outcome(run.text("outcome.json"));
  REQUIRE(outcome.has_value());
  CHECK(outcome->exit_code == 3);
  CHECK(outcome->attempts.size() == 1);
  CHECK_THAT(run.text("job.json"), ContainsSubstring(run.ledger.run_id()));
}

TEST_CASE("no secret of the command stands in the record", "[run_ledger]") {
  Kept run;
  run.plan.options.command = {"torchrun", "train.py", "--token", "hunter2hunter2"};
  REQUIRE(run.ledger.open(run.plan).has_value());
  run.ledger.close(0, {}, run.plan);
  for (const char* file : {"events.jsonl", "outcome.json", "job.json"})
    CHECK_THAT(run.text(file), !ContainsSubstring("hunter2hunter2"));
}

TEST_CASE("a folder that the user names and that cannot be made is an error", "[run_ledger]") {
  Kept run;
  run.plan.options.run_dir = run.folder.write("a-file", "") + "/below";
  CHECK_FALSE(run.ledger.open(run.plan).has_value());
}

TEST_CASE("a run whose disk does not answer is not recorded, and goes on", "[run_ledger]") {
  Kept run;
  std::promise<void> thaw;
  REQUIRE(run.disk.post(0, [frozen = thaw.get_future().share()] { frozen.wait(); }));
  REQUIRE(run.ledger.open(run.plan).has_value());
  CHECK_THAT(run.ledger.trouble(), ContainsSubstring("does not answer"));
  CHECK(run.ledger.directory().empty());
  run.plan.environment.clear();  // what is still to be done for us has values of its own
  run.plan.options.run_dir = run.folder / "elsewhere";
  thaw.set_value();
  REQUIRE(run.disk.drain(60s));
  CHECK(std::filesystem::exists(run.folder / "state"));
}

namespace {

/// The events of an attempt, on the disk once they are asked for.
struct Events {
  TemporaryFolder folder;
  redact::Redactor redactor;
  report::EventLog log{folder / "events.jsonl", Clock::now(), redactor};

  [[nodiscard]] std::string text() const {
    std::ifstream in(folder / "events.jsonl");
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

}  // namespace

TEST_CASE("a --log-dir that cannot be written is refused before anything runs", "[run_ledger]") {
  Kept run;
  run.plan.options.log_dir = "/proc/none";
  const auto opened = run.ledger.open(run.plan);
  REQUIRE(opened.has_error());
  CHECK_THAT(opened.error().message, ContainsSubstring("--log-dir /proc/none: cannot be made"));
  CHECK(run.ledger.directory().empty());
}

TEST_CASE("nothing is recorded of an NCCL that has written nothing", "[run_ledger]") {
  Events events;
  nccl::Record nccl;
  nccl.version = nccl::Version{2, 28, 9};  // known beforehand
  record_nccl(events.log, nccl);
  CHECK(events.text().empty());
  nccl.any = true;
  nccl.interfaces = {"eth0", "ib0"};
  nccl.unread = {"NCCL_IB_HCA=mlx5"};
  record_nccl(events.log, nccl);
  CHECK_THAT(events.text(), ContainsSubstring(R"("e":"nccl")") &&
                                ContainsSubstring(R"("version":"2.28.9")") &&
                                ContainsSubstring(R"("interface":["eth0","ib0"])") &&
                                ContainsSubstring(R"("unread":["NCCL_IB_HCA=mlx5"])"));
}

TEST_CASE("what ranks answered about their collectives is recorded with what follows from it",
          "[run_ledger]") {
  Events events;
  RankAnswers answers;
  record_collectives(events.log, answers);
  CHECK(events.text().empty());
  using State = watch::CollectiveSeen::State;
  for (const int rank : {0, 1}) {
    watch::RankCollectives& seen = answers.collectives[Rank{rank}];
    seen.told = true;
    seen.members["0"] = {Rank{0}, Rank{1}};
    seen.last = {{"0", 1, rank == 0 ? "all_reduce" : "broadcast", State::enqueued}};
  }
  record_collectives(events.log, answers);
  CHECK_THAT(events.text(), ContainsSubstring("rank 0: all_reduce, collective 1 of group 0") &&
                                ContainsSubstring("rank 1: broadcast, collective 1 of group 0") &&
                                !ContainsSubstring(R"("contradiction":"")"));
}

TEST_CASE("segments that were removed are recorded with their size in all", "[run_ledger]") {
  Events events;
  record_removed_segments(events.log, {});
  CHECK(events.text().empty());
  host::LeftFile one;
  one.path = "/dev/shm/nccl-a";
  one.bytes = 33;
  host::LeftFile other;
  other.path = "/dev/shm/nccl-b";
  other.bytes = 9;
  record_removed_segments(events.log, {one, other});
  CHECK_THAT(events.text(),
             ContainsSubstring(R"("removed":["/dev/shm/nccl-a","/dev/shm/nccl-b"])") &&
                 ContainsSubstring(R"("bytes":42)"));
}

TEST_CASE("an attempt that changes no variable has no env.diff", "[run_ledger]") {
  Kept run;
  const std::filesystem::path attempt = run.folder / "attempt";
  std::filesystem::create_directories(attempt);
  write_env_diff(run.disk, attempt, {}, redact::Redactor());
  REQUIRE(run.disk.drain(60s));
  CHECK(std::filesystem::is_empty(attempt));
}

TEST_CASE("the variables of an attempt are kept without the user's secrets", "[run_ledger]") {
  Kept run;
  const std::filesystem::path attempt = run.folder / "attempt";
  std::filesystem::create_directories(attempt);
  const std::vector<profile::Difference> differences{
      {"NCCL_P2P_DISABLE", {}, "1", profile::Winner::profile, "profile no-p2p"},
      {"HF_TOKEN", "hf_abcdefghijklmnopqrstuvwxyzabcdefgh", "hf_other", profile::Winner::user, ""}};
  write_env_diff(run.disk, attempt, differences, redact::Redactor());
  REQUIRE(run.disk.drain(60s));
  std::ifstream in(attempt / "env.diff");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  CHECK_THAT(text, ContainsSubstring("NCCL_P2P_DISABLE") && !ContainsSubstring("hf_abcdef"));
}

TEST_CASE("a healthy run at the first attempt gets no page, a run that failed does",
          "[run_ledger]") {
  const bool failed = GENERATE(false, true);
  Kept run;
  REQUIRE(run.ledger.open(run.plan).has_value());
  report::AttemptSummary attempt;
  attempt.number = 1;
  attempt.profile = "basic";
  if (failed) attempt.failure = Failure{};
  run.ledger.add(attempt);
  run.ledger.close(failed ? 1 : 0, {}, run.plan);
  run.ledger.write_page(run.plan.environment);
  REQUIRE(run.disk.drain(60s));
  CHECK(std::filesystem::exists(run.ledger.directory() / "report.html") == failed);
}

TEST_CASE("where a run took place is recorded if it failed, and of a healthy one nothing",
          "[run_ledger]") {
  for (const bool failed : {false, true}) {
    Kept run;
    REQUIRE(run.ledger.open(run.plan).has_value());
    report::AttemptSummary attempt;
    if (failed) attempt.failure.emplace();
    run.ledger.add(attempt);
    run.ledger.close(failed ? 1 : 0, {}, run.plan);
    const std::string events = run.text("events.jsonl");
    CHECK((events.find("\"e\":\"host\"") != std::string::npos) == failed);
    CHECK((events.find(account_of_host(run.plan).host) != std::string::npos) == failed);
  }
}

TEST_CASE("GPUs are told by their models, with how many there are of each", "[run_ledger]") {
  const TemporaryFolder folder;
  CHECK(gpu_models(folder / "none").empty());
  int next = 0;
  for (const char* model : {"NVIDIA H100 80GB HBM3", "Tesla T4", "NVIDIA H100 80GB HBM3"}) {
    const std::filesystem::path gpu = folder / fmt::format("0000:{}:00.0", next++);
    std::filesystem::create_directories(gpu);
    std::ofstream(gpu / "information") << "Model: \t\t " << model << "\nIRQ:   \t\t 90\n";
  }
  CHECK(gpu_models(folder / "") == "2 × NVIDIA H100 80GB HBM3, Tesla T4");
}

TEST_CASE("a finding is recorded as it was seen", "[run_ledger]") {
  Kept run;
  REQUIRE(run.ledger.open(run.plan).has_value());
  run.ledger.note({"shm-small", Severity::blocks, "64 MiB", "docker run --shm-size=1g"});
  CHECK_THAT(run.text("events.jsonl"), ContainsSubstring(R"("id":"shm-small")") &&
                                           ContainsSubstring(R"("severity":"blocks")") &&
                                           ContainsSubstring("--shm-size=1g"));
}

TEST_CASE("a cause is recorded with how sure it is", "[run_ledger]") {
  Kept run;
  REQUIRE(run.ledger.open(run.plan).has_value());
  diagnose::Diagnosis diagnosis;
  diagnosis.failure.cause = "shm-small";
  diagnosis.failure.certainty = Certainty::matched;
  diagnosis.failure.explanation = "NCCL says so";
  run.ledger.note_cause(diagnosis);
  CHECK_THAT(run.text("events.jsonl"), ContainsSubstring(R"("e":"cause")") &&
                                           ContainsSubstring(R"("certainty":"matched")") &&
                                           ContainsSubstring("NCCL says so"));
}
