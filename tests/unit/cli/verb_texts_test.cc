#include "launcher/cli/verb_texts.h"

#include <nlohmann/json.hpp>

#include "catch.h"
#include "launcher/cli/recorded_runs.h"
#include "safelaunch/base/language.h"

using namespace safelaunch;
using namespace safelaunch::cli;

namespace {

using TextJson = nlohmann::json;

report::RunLine ended_run(const std::string& id) {
  report::RunLine line;
  line.run.id = id;
  line.run.directory = "/runs/" + id;
  line.command = {"torchrun", "train.py"};
  line.outcome.emplace().attempts.emplace_back();
  return line;
}

RunningRun running_run(const std::string& id) {
  RunningRun run;
  run.line = ended_run(id);
  run.line.outcome.reset();
  run.line.state = report::RunRecord::State::running;
  run.line.took = std::chrono::hours(3);
  run.status.run = id;
  run.status.command = run.line.command;
  run.status.attempt = 1;
  run.status.profile = "basic";
  return run;
}

clean::Removal stale_process() {
  clean::StaleProcess stale;
  stale.process.id = {71, 5};
  stale.process.uid = 0;
  stale.process.age = std::chrono::hours(2);
  stale.command = "python train.py";
  stale.holds = {"port 29500"};
  stale.why = "its safelaunch is gone";
  return {stale, "ended"};
}

clean::Removal stale_segment() {
  clean::StaleFile stale;
  stale.file.path = "/dev/shm/nccl-abc";
  stale.file.bytes = 65536;
  stale.why = "nobody has it open";
  return {stale, "would be removed"};
}

doctor::HostFacts host_with_python() {
  doctor::HostFacts facts;
  facts.packages = {{"deepspeed", "0.19.8"}, {"jax", "0.8"}};
  gpu::JobLibraries libraries;
  libraries.python.interpreter = "/venv/bin/python";
  libraries.torch_version = "2.13.0";
  libraries.torch_cuda = "13.0";
  libraries.nccl = {{"/a/libnccl.so.2", gpu::LibraryOrigin::torch, "2.29.7"},
                    {"/b/libnccl.so.2", gpu::LibraryOrigin::system, "2.28.9"}};
  libraries.driver = {{"/c/libcuda.so.1", gpu::LibraryOrigin::system, "580.95.05"}};
  libraries.nvml = {{"/c/libnvidia-ml.so.1", gpu::LibraryOrigin::library_path, "580.95.05"}};
  facts.libraries = libraries;
  return facts;
}

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("where nothing runs and nothing has run, status says only that", "[status]") {
  CHECK(render_running({}, std::nullopt) == "no job of yours runs under safelaunch\n");
}

TEST_CASE("where nothing runs, the end of the last run is told", "[status]") {
  CHECK(render_running({}, ended_run("a1")) ==
        "no job of yours runs under safelaunch\n"
        "the last one, a1 (torchrun train.py): completed; safelaunch report tells more\n");
  report::RunLine cut_off = ended_run("a1");
  cut_off.outcome.reset();
  cut_off.command.clear();
  CHECK(render_running({}, cut_off) ==
        "no job of yours runs under safelaunch\n"
        "the last one, a1 (): cut off; safelaunch report tells more\n");
}

TEST_CASE("each running job is told with its age and its logs", "[status]") {
  std::vector runs{running_run("a1"), running_run("b2")};
  runs[1].line.log_dir = "/logs";
  const std::string text = render_running(runs, std::nullopt);
  CHECK(text == report::render(runs[0].status) + "    since 3h; logs in /runs/a1\n" +
                    report::render(runs[1].status) + "    since 3h; logs in /logs\n");
}

TEST_CASE("a running job leaves no word for the last one", "[status]") {
  CHECK(render_running(std::vector{running_run("a1")}, ended_run("b2")).find("b2") ==
        std::string::npos);
}

TEST_CASE("a run is over with its outcome, whatever else its line says", "[runs]") {
  report::RunLine line = ended_run("a");
  line.boot_id = "that boot";
  line.state = report::RunRecord::State::running;
  CHECK(life_of(line, "this boot") == report::RunLife::over);
  CHECK(life_of(line, "that boot") == report::RunLife::over);
}

TEST_CASE("a run without an outcome is judged by its boot, then by its process", "[runs]") {
  struct Row {
    std::string_view boot;
    report::RunRecord::State state;
    report::RunLife life;
  };
  for (const Row& row : {Row{"this", report::RunRecord::State::running, report::RunLife::running},
                         Row{"this", report::RunRecord::State::cut_off, report::RunLife::over},
                         Row{"other", report::RunRecord::State::cut_off, report::RunLife::unknown},
                         Row{"other", report::RunRecord::State::running, report::RunLife::unknown},
                         Row{"", report::RunRecord::State::cut_off, report::RunLife::unknown}}) {
    report::RunLine line;
    line.boot_id = row.boot;
    line.state = row.state;
    INFO(row.boot);
    CHECK(life_of(line, "this") == row.life);
  }
}

TEST_CASE("clean lists each leftover in a line of its own", "[clean]") {
  const std::vector lines{stale_process(), stale_segment()};
  CHECK(render_removals(lines) == describe(lines[0]) + "\n" + describe(lines[1]) + "\n");
  CHECK(render_removals({}) == "nothing is stale\n");
}

TEST_CASE("clean speaks Chinese but for names, paths and commands", "[clean]") {
  clean::Removal orphan = stale_process();
  auto& process = std::get<clean::StaleProcess>(orphan.what);
  process.claim = clean::Claim::unproven;
  process.launcherless = true;
  process.why = "not started by safelaunch; a rank without a launcher, or started by hand";
  orphan.done = "left alone";
  speak(Language::chinese);
  const std::string text = render_removals(std::vector{orphan, stale_segment()});
  speak(Language::english);
  CHECK(text.starts_with("保留：pid 71（python train.py），用户 root，已运行 "));
  CHECK(text.find("，占用端口 29500：不是 safelaunch 启动的；失去启动器的 rank，或是手工启动的；用 "
                  "`safelaunch clean --pid 71` 可以") != std::string::npos);
  CHECK(text.find("\n将删除：/dev/shm/nccl-abc（64 KiB）：") != std::string::npos);
}

TEST_CASE("clean tells a program who holds what, and what was done", "[clean]") {
  const auto json = TextJson::parse(removals_json(std::vector{stale_process(), stale_segment()}));
  CHECK(json == TextJson::parse(R"([
    {"kind": "process", "pid": 71, "command": "python train.py", "why": "its safelaunch is gone",
     "holds": ["port 29500"], "done": "ended"},
    {"kind": "file", "path": "/dev/shm/nccl-abc", "bytes": 65536, "why": "nobody has it open",
     "done": "would be removed"}])"));
  CHECK(removals_json({}) == "[]\n");
}

TEST_CASE("a command line that is no UTF-8 is told to a program all the same", "[clean]") {
  clean::Removal odd = stale_process();
  std::get<clean::StaleProcess>(odd.what).command = "python \xff\x1b[2J";
  const auto json = TextJson::parse(removals_json(std::vector{odd}));
  CHECK(json[0]["command"] == "python \ufffd\x1b[2J");
}

TEST_CASE("a bundle tells the versions of all that the job would load", "[report]") {
  const std::vector<std::string> lines = lines_in(versions_text(host_with_python()));
  REQUIRE_FALSE(lines.empty());
  CHECK(lines.front().starts_with("safelaunch "));
  CHECK(std::vector<std::string>(lines.begin() + 1, lines.end()) ==
        std::vector<std::string>{"deepspeed 0.19.8", "jax 0.8", "python /venv/bin/python",
                                 "torch 2.13.0 for CUDA 13.0",
                                 "libnccl 2.29.7 /a/libnccl.so.2 (torch's RPATH)",
                                 std::string("libnccl 2.28.9 /b/libnccl.so.2 (") +
                                     describe(gpu::LibraryOrigin::system) + ")",
                                 std::string("libcuda 580.95.05 /c/libcuda.so.1 (") +
                                     describe(gpu::LibraryOrigin::system) + ")",
                                 "libnvidia-ml 580.95.05 /c/libnvidia-ml.so.1 (LD_LIBRARY_PATH)"});
}

TEST_CASE("a bundle tells of an NCCL inside torch, and of no torch at all", "[report]") {
  doctor::HostFacts facts = host_with_python();
  facts.libraries->nccl_inside_torch = true;
  CHECK_THAT(versions_text(facts),
             Catch::Matchers::ContainsSubstring("torch 2.13.0 for CUDA 13.0, NCCL inside\n"));
  facts.libraries->torch_version.clear();
  CHECK(versions_text(facts).find("torch 2") == std::string::npos);
}

TEST_CASE("a bundle of a host without a Python tells safelaunch and packages", "[report]") {
  doctor::HostFacts facts = host_with_python();
  facts.libraries.reset();
  CHECK(lines_in(versions_text(facts)).size() == 3);
  CHECK(lines_in(versions_text({})).size() == 1);
}

TEST_CASE("the doctor's answer is what was looked at, then the findings, then what was mended",
          "[doctor]") {
  const doctor::HostFacts facts = host_with_python();
  const std::vector<doctor::Advice> advices{
      {{"shm-small", Severity::risk, "/dev/shm has 64 MiB", "docker run --shm-size=8g"}, {}, {}}};
  const std::string seen =
      doctor::render_looked_at(doctor::looked_at(facts, advices)) + doctor::render_advices(advices);
  CHECK(doctor_text({}, facts, advices, {}) == seen);
  CHECK(doctor_text({.fix = true}, facts, advices, {"removed: /tmp/a", "ended: pid 3"}) ==
        seen + "fix: removed: /tmp/a\nfix: ended: pid 3\n");
}

TEST_CASE("the doctor's JSON holds what was mended within it", "[doctor]") {
  const auto json =
      TextJson::parse(doctor_text({.json = true}, host_with_python(), {}, {"removed: /tmp/a"}));
  CHECK(json["blocked"] == false);
  CHECK(json["fixed"] == std::vector<std::string>{"removed: /tmp/a"});
  CHECK(json["findings"].empty());
}

TEST_CASE("the doctor tells no secret of the environment or of the command", "[doctor]") {
  doctor::HostFacts facts;
  facts.subject.environment = {{"MY_API_KEY", "canary-of-the-environment"}};
  const std::vector<doctor::Advice> advices{{{"no-gpu", Severity::note,
                                              "seen canary-of-the-environment, "
                                              "canary-of-the-command",
                                              "none"},
                                             {},
                                             {}}};
  for (const bool json : {false, true}) {
    DoctorWords words;
    words.json = json;
    words.command = {"train", "--password", "canary-of-the-command"};
    const std::string text = doctor_text(words, facts, advices, {});
    CHECK_THAT(text, !Catch::Matchers::ContainsSubstring("canary"));
  }
}

TEST_CASE("one finding that blocks is enough for the status", "[doctor]") {
  const auto advice = [](Severity severity) {
    return doctor::Advice{{"no-gpu", severity, "x", "y"}, {}, {}};
  };
  CHECK_FALSE(is_blocked({}));
  CHECK_FALSE(is_blocked(std::vector{advice(Severity::note), advice(Severity::risk)}));
  CHECK(is_blocked(std::vector{advice(Severity::note), advice(Severity::blocks)}));
}

TEST_CASE("test names the Python, its packages and the NCCL that it loads", "[test]") {
  const gpu::JobLibraries libraries = *host_with_python().libraries;
  CHECK(versions_in_words({"3.11.2", {{"jax", "0.8"}, {"torch", "2.13.0+cpu"}}}, libraries) ==
        "3.11.2 (/venv/bin/python), jax 0.8, torch 2.13.0+cpu, NCCL 2.29.7");
  CHECK(versions_in_words({"3.12", {}}, {}) == "3.12 ()");
}

TEST_CASE("a page over something else is refused with its name", "[report]") {
  const Error error = no_page("notes.html");
  CHECK(error.code == Errc::usage);
  CHECK(error.message ==
        "--html notes.html: exists and is no safelaunch page; it was left as it is");
}
