#include "safelaunch/report/status.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "scratch.h"

using namespace safelaunch;

using namespace safelaunch::report;
namespace fs = std::filesystem;

namespace {

struct RunsWithStatus {
  RunsWithStatus() {
    char pattern[] = "/tmp/safelaunch-test-XXXXXX";
    path = mkdtemp(pattern);
  }
  ~RunsWithStatus() { fs::remove_all(path); }
  RunsWithStatus(const RunsWithStatus&) = delete;
  RunsWithStatus& operator=(const RunsWithStatus&) = delete;
  void add(const std::string& name, const std::string& job, const std::string& events) const {
    fs::create_directory(path / name);
    std::ofstream(path / name / "job.json") << job;
    std::ofstream(path / name / "events.jsonl") << events;
  }
  fs::path path;
};

constexpr const char* kStatusJob =
    R"({"run":"r1","pid":71,"start_ticks":5,"boot_id":"b","started":"now","command":["torchrun"]})";

}  // namespace

TEST_CASE("the stage of each rank is read off the record", "[status]") {
  const RunsWithStatus runs;
  runs.add("r1", kStatusJob,
           R"({"e":"attempt","attempt":1,"profile":"basic"})"
           "\n"
           R"({"e":"stage","attempt":1,"rank":0,"stage":"group"})"
           "\n"
           R"({"e":"attempt","attempt":2,"profile":"no-shm"})"
           "\n"
           R"({"e":"stage","attempt":2,"rank":0,"stage":"imported"})"
           "\n"
           R"({"e":"status","attempt":2,"text":"waiting for rank 1"})"
           "\n");
  const std::vector<RunStatus> all{read_status(runs.path / "r1").value()};
  CHECK(all[0].process == ProcessId{71, 5});
  CHECK(all[0].attempt == 2);
  CHECK(all[0].stages.at(0) == "imported");
  CHECK(render(all[0]).find("waiting for rank 1") != std::string::npos);
  CHECK(nlohmann::json::parse(status_json(all))[0]["profile"] == "no-shm");
}

TEST_CASE("no word of a record sets the terminal, or looks like a line of ours", "[status]") {
  const RunsWithStatus runs;
  runs.add(
      "r1",
      R"({"run":"r1","pid":71,"command":["sh","\u001b]0;title\u0007","a\nr2  pid 1\u009b31m"]})",
      R"({"e":"attempt","attempt":1,"profile":"basic\u001b[2J"})"
      "\n"
      R"({"e":"status","attempt":1,"text":"waiting for rank 1\n    user root"})"
      "\n");
  const std::string text = render(read_status(runs.path / "r1").value());
  CHECK(text ==
        "r1  pid 71  attempt 1 basic\n    sh '' 'a r2  pid 1\ufffd31m'\n"
        "    waiting for rank 1     user root\n");
}

TEST_CASE("a record that was cut in the middle of a line is read up to there", "[status]") {
  const RunsWithStatus runs;
  runs.add("r1", kStatusJob,
           R"({"e":"attempt","attempt":1,"profile":"basic"})"
           "\n"
           R"({"e":"sta)");
  CHECK(read_status(runs.path / "r1").value().attempt == 1);
}

TEST_CASE("a folder that holds no run has no status", "[status]") {
  const RunsWithStatus runs;
  runs.add("broken", "{", "");
  runs.add("list", "[1,2]", "");
  runs.add("empty", "", "");
  for (const char* name : {"broken", "list", "empty", "none"})
    CHECK_FALSE(read_status(runs.path / name));
}

TEST_CASE("a status names the ranks of each stage, a line a stage", "[status]") {
  RunStatus status;
  status.run = "r1";
  status.stages = {{0, "group"}, {1, "imported"}, {2, "group"}};
  const std::string text = render(status);
  CHECK(text.find("    group: ranks 0 2\n") != std::string::npos);
  CHECK(text.find("    imported: rank 1\n") != std::string::npos);
}

TEST_CASE("a status tells once how far the ranks are", "[status]") {
  RunStatus status;
  status.run = "r1";
  status.stages = {{0, "group"}, {1, "imported"}};
  status.waiting = "imported 2/2 · group 1/2 · waiting for rank 1 (idling) 12s/180s";
  const std::string text = render(status);
  CHECK(text.find("2/2") == std::string::npos);
  CHECK(text.ends_with("    waiting for rank 1 (idling) 12s/180s\n"));
  status.waiting =
      "imported 2/2 · group 0/2 · all ranks have stood still for 8s: ranks 0 1 in a.py:3";
  CHECK(render(status).ends_with("    all ranks have stood still for 8s: ranks 0 1 in a.py:3\n"));
}

TEST_CASE("once a job trains its status tells of no waiting", "[status]") {
  RunStatus status;
  status.waiting = "waiting for rank 1";
  CHECK(render(status).find("waiting for rank 1") != std::string::npos);
  status.training = true;
  CHECK(render(status).find("waiting for rank 1") == std::string::npos);
  CHECK(render(status).find(", training") != std::string::npos);
  status.training = false;
  status.ended = true;
  CHECK(render(status).find("waiting for rank 1") == std::string::npos);
}

TEST_CASE("a run that has its end recorded is no longer running", "[status]") {
  const RunsWithStatus runs;
  runs.add("r1", kStatusJob,
           R"({"e":"training","attempt":1})"
           "\n"
           R"({"e":"end","exit_status":0})");
  CHECK(read_status(runs.path / "r1").value().ended);
  CHECK(read_status(runs.path / "r1").value().training);
}

TEST_CASE("the status as JSON has the stage of each rank, and waiting only where somebody waits",
          "[status]") {
  RunStatus status;
  status.stages = {{3, "group"}};
  auto json = nlohmann::json::parse(status_json({status}));
  CHECK(json[0]["stages"]["3"] == "group");
  CHECK_FALSE(json[0].contains("waiting"));
  status.waiting = "waiting for rank 1";
  json = nlohmann::json::parse(status_json({status}));
  CHECK(json[0]["waiting"] == "waiting for rank 1");
  status.training = true;
  CHECK_FALSE(nlohmann::json::parse(status_json({status}))[0].contains("waiting"));
}

namespace {

RunStatus with_ranks(int count) {
  RunStatus status;
  status.age = std::chrono::seconds(90);
  for (int rank = 0; rank < count; ++rank) {
    status.stages[rank] = rank == 1 ? "imported" : "group";
    status.since[rank] = std::chrono::seconds(30);
    status.figures[rank] = {.pid = 100 + rank,
                            .cpu = 90 + rank,
                            .memory = 512U << 20U,
                            .gpu_mib = std::nullopt,
                            .doing = "working: uses " + std::to_string(90 + rank) + " % of a CPU"};
  }
  return status;
}

}  // namespace

TEST_CASE("a status tells of each rank its stage, since when, its CPU, memory and what it does",
          "[status]") {
  RunStatus status = with_ranks(2);
  status.figures[1].gpu_mib = 2'048;
  status.gpus = {{0, 2'560, 81'920, 97}};
  status.network = {{"eth0", 3U << 20U, 5U << 10U}};
  const std::string text = render(status);
  INFO(text);
  CHECK(text.find("rank 0  group     1min   90 %  512 MiB  -           working\n") !=
        std::string::npos);
  CHECK(text.find("rank 1  imported  1min   91 %  512 MiB  2.0 GiB") != std::string::npos);
  CHECK(text.find("its children") == std::string::npos);
  CHECK(text.find("GPU 0: 2.5 GiB of 80.0 GiB in use, busy 97 %") != std::string::npos);
  CHECK(text.find("\n    this host's eth0: 3 MiB a second in, 5 KiB out\n") != std::string::npos);
}

TEST_CASE("of a thousand ranks those that do the same share a row of the status", "[status]") {
  const std::string text = render(with_ranks(1'024));
  INFO(text);
  CHECK(std::count(text.begin(), text.end(), '\n') == 5);
  CHECK(text.find("90 % to 1113 %") != std::string::npos);
  CHECK(text.find("imported") != std::string::npos);
}

TEST_CASE("a rank whose hook answers is told with its place in the code", "[status]") {
  for (const int ranks : {2, 1'024}) {
    RunStatus status = with_ranks(ranks);
    status.figures[1].doing = "idling: sleeping in hrtimer_nanosleep";
    status.figures[1].where = "train.py:48 load_data";
    const std::string text = render(status);
    INFO(text);
    CHECK(text.find("idling, in train.py:48 load_data\n") != std::string::npos);
    CHECK(nlohmann::json::parse(status_json({status}))[0]["ranks"]["1"]["where"] ==
          "train.py:48 load_data");
  }
}

TEST_CASE("a rank of another node is told as one that is not seen here", "[status]") {
  RunStatus status = with_ranks(2);
  status.figures.erase(1);
  CHECK(render(status).find("not seen on this host") != std::string::npos);
}

TEST_CASE("a rank of another node is told with its host", "[status]") {
  const RunsWithStatus runs;
  runs.add("r1", kStatusJob,
           R"({"t":1,"e":"attempt","attempt":1,"profile":"basic","command":["x"]})"
           "\n"
           R"({"t":2,"e":"node","attempt":1,"node":1,"host":"gpu-17","ranks":[1]})"
           "\n"
           R"({"t":3,"e":"stage","attempt":1,"rank":1,"stage":"group","pid":7})"
           "\n");
  RunStatus status = *read_status(runs.path / "r1");
  status.figures[0] = {};
  CHECK(render(status).find("elsewhere: on gpu-17") != std::string::npos);
  CHECK(nlohmann::json::parse(status_json({status}))[0]["ranks"]["1"]["host"] == "gpu-17");
}

TEST_CASE("the status as JSON has the figures of each rank", "[status]") {
  const auto json = nlohmann::json::parse(status_json({with_ranks(2)}));
  CHECK(json[0]["ranks"]["1"]["cpu_percent"] == 91);
  CHECK(json[0]["ranks"]["1"]["memory_bytes"] == 512U << 20U);
}

TEST_CASE("the collectives a second are those between the last two answers", "[status]") {
  const RunsWithStatus runs;
  runs.add(
      "r1", kStatusJob,
      R"({"e":"attempt","attempt":1,"profile":"basic"})"
      "\n"
      R"({"e":"training","attempt":1})"
      "\n"
      R"({"t":10,"e":"usage","attempt":1,"ranks":[0,1],"cpu":[1,1],"memory":[1,1],"children":[0,0],"collectives":[100,90]})"
      "\n"
      R"({"t":14,"e":"usage","attempt":1,"ranks":[0,1],"cpu":[1,1],"memory":[1,1],"children":[0,0],"collectives":[150,180]})");
  const RunStatus status = read_status(runs.path / "r1").value();
  CHECK(status.collectives_a_second == 20.0);
  CHECK(render(status).find("20.0 collectives a second") != std::string::npos);
  CHECK(nlohmann::json::parse(status_json({status}))[0]["collectives_a_second"] == 20.0);
}

TEST_CASE("the rank that comes last is told until it does no more", "[status]") {
  const RunsWithStatus runs;
  const std::string slow =
      R"({"e":"attempt","attempt":1,"profile":"basic"})"
      "\n"
      R"({"t":60,"e":"straggler","attempt":1,"rank":5,"last":97,"of":100,"behind_us":180000,"waited":58})";
  runs.add("r1", kStatusJob, slow);
  const RunStatus status = read_status(runs.path / "r1").value();
  CHECK(render(status).find(
            "    rank 5 came last to 97 of 100 collectives, 180 ms after the others") !=
        std::string::npos);
  CHECK(nlohmann::json::parse(status_json({status}))[0]["straggler"]["behind_us"] == 180'000);
  runs.add("r2", kStatusJob, slow + "\n" + R"({"t":120,"e":"straggler","attempt":1,"rank":-1})");
  CHECK_FALSE(read_status(runs.path / "r2").value().straggler);
}

TEST_CASE("a standstill is told until it is over", "[status]") {
  const RunsWithStatus runs;
  const std::string still =
      R"({"e":"attempt","attempt":1,"profile":"basic"})"
      "\n"
      R"({"t":60,"e":"stall","attempt":1,"text":"rank 1 is behind","phase":"","serves":true})";
  runs.add("r1", kStatusJob, still);
  const RunStatus status = read_status(runs.path / "r1").value();
  CHECK(render(status).find("stands still: rank 1 is behind\n") != std::string::npos);
  CHECK(nlohmann::json::parse(status_json({status}))[0]["stall"] == status.stall);
  runs.add("r2", kStatusJob,
           still + "\n" + R"({"t":90,"e":"stall","attempt":1,"text":"30s","phase":"over"})");
  CHECK(read_status(runs.path / "r2").value().stall.empty());
}

TEST_CASE("before training has begun there is no rate to tell", "[status]") {
  const RunsWithStatus runs;
  runs.add(
      "r1", kStatusJob,
      R"({"t":10,"e":"usage","attempt":1,"ranks":[0],"cpu":[1],"memory":[1],"children":[0],"collectives":[0]})"
      "\n"
      R"({"t":14,"e":"usage","attempt":1,"ranks":[0],"cpu":[1],"memory":[1],"children":[0],"collectives":[0]})");
  CHECK_FALSE(read_status(runs.path / "r1").value().collectives_a_second);
}

TEST_CASE("ranks that are not asked have no rate", "[status]") {
  const RunsWithStatus runs;
  runs.add(
      "r1", kStatusJob,
      R"({"e":"attempt","attempt":1,"profile":"basic"})"
      "\n"
      R"({"e":"training","attempt":1})"
      "\n"
      R"({"t":10,"e":"usage","attempt":1,"ranks":[0],"cpu":[1],"memory":[1],"children":[0],"collectives":[-1]})"
      "\n"
      R"({"t":14,"e":"usage","attempt":1,"ranks":[0],"cpu":[1],"memory":[1],"children":[0],"collectives":[-1]})");
  CHECK_FALSE(read_status(runs.path / "r1").value().collectives_a_second);
}

TEST_CASE("the status of a run without figures, whole", "[status]") {
  RunStatus status;
  status.run = "r1";
  status.process.pid = 71;
  status.attempt = 2;
  status.profile = "no-p2p";
  status.command = {"torchrun", "train.py"};
  status.stages = {{0, "group"}, {1, "imported"}, {2, "group"}, {10, "group"}};
  status.waiting = "group 3/4 · waiting for rank 1 12s/180s";
  CHECK(render(status) ==
        "r1  pid 71  attempt 2 no-p2p\n"
        "    torchrun train.py\n"
        "    group: ranks 0 2 10\n"
        "    imported: rank 1\n"
        "    waiting for rank 1 12s/180s\n");
  status.training = true;
  status.collectives_a_second = 12.34;
  CHECK(render(status) ==
        "r1  pid 71  attempt 2 no-p2p, training\n"
        "    torchrun train.py\n"
        "    12.3 collectives a second\n");
}

TEST_CASE("the status of ranks that are seen, whole", "[status]") {
  RunStatus status;
  status.run = "r1";
  status.attempt = 1;
  status.profile = "basic";
  status.age = 3min;
  status.stages = {{0, "group"}, {2, "imported"}};
  status.since = {{0, 60s}, {2, 10min}};
  status.hosts = {{2, "gpu-17"}};
  status.figures[0] = {.pid = 70,
                       .cpu = 98,
                       .memory = 512U << 20U,
                       .children = 0,
                       .gpu_mib = 2'048,
                       .doing = "working: uses 98 % of a CPU"};
  status.figures[1] = {.pid = 71,
                       .cpu = std::nullopt,
                       .memory = 0,
                       .children = 1U << 30U,
                       .gpu_mib = std::nullopt,
                       .doing = "idling: sleeping in nanosleep"};
  status.gpus = {{0, 2'560, 81'920, std::nullopt}};
  CHECK(render(status) ==
        "r1  pid 0  attempt 1 basic\n"
        "    \n"
        "            reached   since  CPU   memory   its children  GPU memory  does\n"
        "    rank 0  group     2min   98 %  512 MiB  -             2.0 GiB     working\n"
        "    rank 1  spawned   -      -     -        1.0 GiB       -           idling: sleeping in "
        "nanosleep\n"
        "    rank 2  imported  0s     -     -        -             -           elsewhere: on "
        "gpu-17\n"
        "    GPU 0: 2.5 GiB of 80.0 GiB in use\n");
}

TEST_CASE("up to sixteen ranks have a row each, more share rows", "[status]") {
  for (const int count : {16, 17}) {
    RunStatus status;
    for (int rank = 0; rank < count; ++rank) {
      status.stages[rank] = "group";
      status.figures[rank] = {
          .pid = 1, .cpu = rank, .gpu_mib = {}, .doing = "idling: " + std::to_string(rank)};
    }
    const std::string text = render(status);
    CHECK(std::count(text.begin(), text.end(), '\n') == (count == 16 ? 19 : 4));
  }
}

TEST_CASE("a stage of no rank, and events of other versions, change no status", "[status]") {
  const ScratchFolder run;
  run.write("job.json", R"({"run":"r1","command":[]})");
  run.write("events.jsonl",
            "{\"e\":\"stage\",\"stage\":\"group\"}\n{\"e\":\"stage\",\"rank\":-7,\"stage\":\"x\"}\n"
            "{\"e\":\"weather\",\"rank\":1}\n\n\xff\n{\"e\":\"usage\",\"collectives\":[-1,-1]}\n"
            "{\"e\":\"usage\"}\n{\"e\":\"node\",\"attempt\":1,\"ranks\":[3],\"host\":\"h\"}");
  const RunStatus status = read_status(run.path).value();
  CHECK(status.stages.empty());
  CHECK_FALSE(status.collectives_a_second);
  CHECK(status.hosts == std::map<int, std::string>{{3, "h"}});
}

TEST_CASE("a new attempt forgets where the ranks of the last one were", "[status]") {
  const ScratchFolder run;
  run.write("job.json", R"({"run":"r1","command":["x"],"pid":"71","start_ticks":-1})");
  run.write("events.jsonl",
            R"({"e":"attempt","attempt":1,"profile":"basic"}
{"e":"stage","attempt":1,"rank":0,"stage":"group"}
{"e":"node","attempt":1,"ranks":[0],"host":"h"}
{"e":"status","attempt":1,"text":"waiting for rank 1"}
{"t":1,"e":"usage","attempt":1,"ranks":[0],"cpu":[0],"memory":[0],"children":[0],"collectives":[5]}
{"t":2,"e":"usage","attempt":1,"ranks":[0],"cpu":[0],"memory":[0],"children":[0],"collectives":[9]}
{"e":"training","attempt":1}
{"e":"attempt","attempt":2,"profile":"no-p2p"}
)");
  const RunStatus status = read_status(run.path).value();
  CHECK(status.process == ProcessId{0, 0});
  CHECK(status.attempt == 2);
  CHECK(status.profile == "no-p2p");
  CHECK(status.stages.empty());
  CHECK(status.hosts.empty());
  CHECK(status.waiting.empty());
  CHECK_FALSE(status.training);
  CHECK_FALSE(status.collectives_a_second);
}

TEST_CASE("two answers at one time, and fewer collectives than before, make no wild rate",
          "[status]") {
  const auto rate_of = [](const std::string& events) {
    const ScratchFolder run;
    run.write("job.json", R"({"run":"r1","command":[]})");
    run.write("events.jsonl", events);
    return read_status(run.path).value().collectives_a_second;
  };
  const std::string first =
      "{\"t\":1,\"e\":\"training\",\"attempt\":1}\n"
      "{\"t\":1,\"e\":\"usage\",\"attempt\":1,\"ranks\":[0,1],\"cpu\":[0,0],\"memory\":[0,0],"
      "\"children\":[0,0],\"collectives\":[10,8]}\n";
  CHECK_FALSE(rate_of(first));
  CHECK_FALSE(rate_of(first + "{\"t\":1,\"e\":\"usage\",\"attempt\":1,\"ranks\":[0],\"cpu\":[0],"
                              "\"memory\":[0],\"children\":[0],\"collectives\":[20]}"));
  CHECK(rate_of(first + "{\"t\":3,\"e\":\"usage\",\"attempt\":1,\"ranks\":[0,1],\"cpu\":[0,0],"
                        "\"memory\":[0,0],\"children\":[0,0],\"collectives\":[-1,20]}") == 5.0);
}

TEST_CASE("no runs are an empty list of JSON", "[status]") {
  CHECK(status_json({}) == "[]\n");
}
