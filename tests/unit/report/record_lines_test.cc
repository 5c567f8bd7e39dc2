#include "catch.h"
#include "safelaunch/redact/redactor.h"
#include "safelaunch/report/event_log.h"
#include "safelaunch/report/record.h"
#include "scratch.h"

using namespace safelaunch;
using namespace safelaunch::report;
using safelaunch::testing::read_file;
using safelaunch::testing::ScratchFolder;
using std::chrono_literals::operator""ms;

namespace {

struct LineCase {
  record::Event event;
  std::string members;  // behind its time, as the record holds them
  std::string words;    // for a reader
};

// One of each event, as a run may make it. A change here is a change of what other versions read.
const std::vector<LineCase>& line_cases() {
  static const std::vector<LineCase> cases{
      {record::Run{"20261121-150653-b939a3", {"torchrun", "train.py"}},
       R"("e":"run","run":"20261121-150653-b939a3","command":["torchrun","train.py"]})",
       "torchrun train.py"},
      {record::Finding{"shm-small", "risk", "64 MB", "make it larger"},
       R"("e":"finding","id":"shm-small","severity":"risk","evidence":"64 MB","remedy":"make it larger"})",
       "shm-small (risk): 64 MB"},
      {record::Attempt{"no-p2p", {"torchrun"}},
       R"("e":"attempt","profile":"no-p2p","command":["torchrun"]})", "no-p2p"},
      {record::Stage{3, "group", 4242}, R"("e":"stage","rank":3,"stage":"group","pid":4242})",
       "rank 3: group"},
      {record::Node{1, "gpu-17", {8, 9, 10}},
       R"("e":"node","node":1,"host":"gpu-17","ranks":[8,9,10]})", "node 1 (gpu-17): ranks 8-10"},
      {record::Ways{
           {"a", "b"}, {0, 1}, {1, 0}, {"eth0", "eth0"}, {"reached", "refused"}, {90, 0}, 2},
       R"("e":"ways","hosts":["a","b"],"from":[0,1],"to":[1,0],"interface":["eth0","eth0"],"end":["reached","refused"],"round_trip_us":[90,0],"left_out":2})",
       "2 nodes, 3 of 4 ways are reached"},
      {record::Status{"group 1/2 · waiting for rank 1"},
       R"("e":"status","text":"group 1/2 · waiting for rank 1"})",
       "group 1/2 · waiting for rank 1"},
      {record::Notice{"the port 29500 is taken; 29501 is used"},
       R"("e":"notice","text":"the port 29500 is taken; 29501 is used"})",
       "the port 29500 is taken; 29501 is used"},
      {record::Training{}, R"("e":"training","serves":false})", ""},
      {record::Probe{"no-p2p", "works", "4 ranks", 12'500},
       R"("e":"probe","profile":"no-p2p","verdict":"works","text":"4 ranks","mb_per_s":12500})",
       "4 ranks"},
      {record::Usage{{0, 1}, {98, 2}, {512, 500}, {0, 64}, {7, -1}},
       R"("e":"usage","ranks":[0,1],"cpu":[98,2],"memory":[512,500],"children":[0,64],"collectives":[7,-1]})",
       "CPU and memory of 2 ranks"},
      {record::Counted{5, 9'000'000'000}, R"("e":"counted","rank":5,"collectives":9000000000})",
       "rank 5 has finished 9000000000 collectives"},
      {record::Gpus{{0}, {1500}, {81920}, {-1}, {0}, {1000}},
       R"("e":"gpus","gpu":[0],"used":[1500],"size":[81920],"busy":[-1],"ranks":[0],"held":[1000]})",
       "memory and work of 1 GPUs"},
      {record::Nccl{
           "2.28.9", {"eth0"}, {"Socket"}, {"P2P", "NET"}, {"NCCL_DEBUG"}, {"NCCL_X"}, "ok"},
       R"("e":"nccl","version":"2.28.9","interface":["eth0"],"network":["Socket"],"transport":["P2P","NET"],"read":["NCCL_DEBUG"],"unread":["NCCL_X"],"standing":"ok"})",
       "2.28.9 · interface eth0 · network Socket · transport P2P NET · unread NCCL_X · ok"},
      {record::Collectives{{"rank 0: none"}, "they differ", "rank 1 is behind", "waits for a key"},
       R"("e":"collectives","ranks":["rank 0: none"],"contradiction":"they differ","behind":"rank 1 is behind","store":"waits for a key"})",
       "they differ; rank 1 is behind; waits for a key"},
      {record::Segments{{"nccl-a", "nccl-b"}, 33'554'432},
       R"("e":"segments","removed":["nccl-a","nccl-b"],"bytes":33554432})",
       "nccl-a nccl-b removed, 32 MiB"},
      {record::Ras{"1 communicator"}, R"("e":"ras","text":"1 communicator"})", "1 communicator"},
      {record::Verdict{"hung", "group", "rank 1 is missing", {0, 2}, {1}, 9},
       R"("e":"verdict","kind":"hung","stage":"group","text":"rank 1 is missing","waiting":[0,2],"missing":[1],"waited":9})",
       "rank 1 is missing"},
      {record::Cause{"rank-missing", "confirmed", "Rank 0 waited."},
       R"("e":"cause","id":"rank-missing","certainty":"confirmed","text":"Rank 0 waited."})",
       "rank-missing (confirmed): Rank 0 waited."},
      {record::Exit{2, 71, "killed by SIGKILL"},
       R"("e":"exit","rank":2,"pid":71,"status":"killed by SIGKILL"})",
       "rank 2: killed by SIGKILL"},
      {record::Exit{-1, 70, "exit status 1"},
       R"("e":"exit","rank":-1,"pid":70,"status":"exit status 1"})", "the launcher: exit status 1"},
      {record::Signal{"SIGTERM", 4242}, R"("e":"signal","signal":"SIGTERM","sender":4242})",
       "SIGTERM from pid 4242"},
      {record::Signal{"SIGHUP", 0}, R"("e":"signal","signal":"SIGHUP","sender":0})",
       "SIGHUP from the kernel"},
      {record::Stall{"no collective for 60 s", ""},
       R"("e":"stall","text":"no collective for 60 s","phase":"","serves":false,"ranks":[],"places":[]})",
       "training stands still: no collective for 60 s"},
      {record::Stall{"12min", "over"},
       R"("e":"stall","text":"12min","phase":"over","serves":false,"ranks":[],"places":[]})",
       "training goes on, after 12min"},
      {record::Stall{"rank 0 works", "works"},
       R"("e":"stall","text":"rank 0 works","phase":"works","serves":false,"ranks":[],"places":[]})",
       "training waits for ranks that work: rank 0 works"},
      {record::Stall{"rank 1 is behind", "", true, {1}, {"a.py:3 load"}},
       R"("e":"stall","text":"rank 1 is behind","phase":"","serves":true,"ranks":[1],"places":["a.py:3 load"]})",
       "the server stands still: rank 1 is behind"},
      {record::Straggler{5, 97, 100, 180'400, 58, "dataset.py:88 load", 8, 10},
       R"("e":"straggler","rank":5,"last":97,"of":100,"behind_us":180400,"waited":58,"where":"dataset.py:88 load","seen":8,"looks":10})",
       "rank 5 came last to 97 of 100 collectives, 180 ms after the others, which waited 58 % of "
       "the "
       "time for it; in dataset.py:88 load at 8 of 10 looks"},
      {record::Straggler{},
       R"("e":"straggler","rank":-1,"last":0,"of":0,"behind_us":0,"waited":0,"where":"","seen":0,"looks":0})",
       "no rank comes last to most collectives any more"},
      {record::HookError{"here", "it broke"},
       R"("e":"hook_error","where":"here","error":"it broke"})", "here: it broke"},
      {record::Unheard{12}, R"("e":"unheard","count":12})", "12 messages of ranks"},
      {record::Unrecorded{"status", 900}, R"("e":"unrecorded","event":"status","count":900})",
       "900 more of status"},
      {record::Unrecorded{"", 3}, R"("e":"unrecorded","event":"","count":3})", "3 more"},
      {record::Host{"gpu-7", "Linux 6.1", "0.1.0", "2.13.0", "2.28.9", "", "8 × H100"},
       R"("e":"host","host":"gpu-7","system":"Linux 6.1","safelaunch":"0.1.0","torch":"2.13.0","nccl":"2.28.9","driver":"","gpus":"8 × H100"})",
       "safelaunch 0.1.0, torch 2.13.0, NCCL 2.28.9, 8 × H100; Linux 6.1 on gpu-7"},
      {record::End{124}, R"("e":"end","exit_status":124})", "exit status 124"},
  };
  return cases;
}

std::string recorded_line(const record::Event& event, int attempt = 0) {
  const ScratchFolder scratch;
  redact::Redactor redactor;
  EventLog log(scratch.path / "events.jsonl", Clock::now(), redactor);
  if (attempt != 0) log.set_attempt(attempt);
  log.record(event);
  return read_file(scratch.path / "events.jsonl");
}

// The event's own members, from its name on.
std::string members_of(const std::string& line) {
  return line.substr(line.find("\"e\":"), line.size() - line.find("\"e\":") - 1);
}

record::Event read_event(const std::string& line) {
  return std::get<record::Event>(record::read_line(line).value().event);
}

template <class One>
One read_as(const std::string& line) {
  return std::get<One>(read_event(line));
}

}  // namespace

TEST_CASE("each event is written with the members that other versions read", "[record]") {
  for (const LineCase& each : line_cases())
    CHECK(members_of(recorded_line(each.event)) == each.members);
}

TEST_CASE("each event is read from its members and told in words", "[record]") {
  for (const LineCase& each : line_cases()) {
    const auto line = record::read_line("{" + each.members);
    REQUIRE(line);
    CHECK(in_words(*line) == each.words);
    CHECK(name(*line) == name(each.event));
    CHECK(members_of(recorded_line(std::get<record::Event>(line->event))) == each.members);
  }
}

TEST_CASE("an event that is cut off anywhere is no event, and does no harm", "[record]") {
  for (const LineCase& each : line_cases()) {
    const std::string line = "{\"t\":1," + each.members;
    for (std::size_t size = 0; size < line.size(); ++size)
      CHECK_FALSE(record::read_line(line.substr(0, size)));
    CHECK(record::read_line(line));
  }
}

TEST_CASE("an event of which any member is of another type is read with the others", "[record]") {
  for (const LineCase& each : line_cases())
    for (const char* value : {"null", "7.5", "\"x\"", "[]", "{}", "true", "[null,{},[1]]",
                              "99999999999999999999", "-1"}) {
      // The value of the last member, which stands behind the last colon.
      const std::string line = "{" + each.members;
      const std::string name_only =
          line.substr(0, line.find(',') == line.npos ? line.size() - 1 : line.find(','));
      const std::string key =
          line.substr(line.rfind(",\"") == line.npos ? 1 : line.rfind(",\"") + 1);
      const std::string changed = name_only + "," + key.substr(0, key.find(':') + 1) + value + "}";
      INFO(changed);
      const auto read = record::read_line(changed);
      if (read) CHECK_NOTHROW(in_words(*read));
    }
}

TEST_CASE("every line has its times, and its attempt from the first one on", "[record]") {
  const std::string before = recorded_line(record::Training{});
  CHECK(before.starts_with("{\"t\":"));
  CHECK(before.find(",\"wall\":\"20") != std::string::npos);
  CHECK(before.find("\"attempt\"") == std::string::npos);
  CHECK(recorded_line(record::Training{}, 3)
            .ends_with("\"e\":\"training\",\"attempt\":3,\"serves\":false}\n"));
}

TEST_CASE("the times and attempts of lines of any origin are in bounds", "[record]") {
  const auto at = [](const std::string& t) {
    return record::read_line("{\"e\":\"end\",\"t\":" + t + "}").value().at;
  };
  CHECK(at("1.25") == 1'250ms);
  CHECK(at("0") == 0ms);
  CHECK(at("-5") == 0ms);
  CHECK(at("\"1\"") == 0ms);
  CHECK(at("null") == 0ms);
  CHECK(at("1e300") == at("1e20"));
  const auto attempt = [](const std::string& number) {
    return record::read_line("{\"e\":\"end\",\"attempt\":" + number + "}").value().attempt;
  };
  CHECK(attempt("7") == 7);
  CHECK(attempt("-7") == -7);
  CHECK(attempt("7.5") == 0);
  CHECK(attempt("99999999999") == 0);
  CHECK(attempt("\"7\"") == 0);
}

TEST_CASE("a member that is missing keeps the value that says so", "[record]") {
  CHECK(read_as<record::Stage>(R"({"e":"stage"})").rank == -1);
  CHECK(read_as<record::Exit>(R"({"e":"exit"})").rank == -1);
  CHECK(read_as<record::Node>(R"({"e":"node"})").node == -1);
  CHECK(read_as<record::Counted>(R"({"e":"counted"})").rank == -1);
  CHECK(read_as<record::Signal>(R"({"e":"signal"})").sender == 0);
  CHECK(read_as<record::Probe>(R"({"e":"probe"})").mb_per_s == 0);
  CHECK(read_as<record::End>(R"({"e":"end"})").exit_status == 0);
  CHECK(read_as<record::Attempt>(R"({"e":"attempt"})").command.empty());
}

TEST_CASE("of a list that holds other things the fitting ones are read", "[record]") {
  CHECK(read_as<record::Node>(R"({"e":"node","ranks":[1,"2",3.5,null,99999999999,4]})").ranks ==
        std::vector<int>{1, 4});
  CHECK(read_as<record::Run>(R"({"e":"run","command":["a",1,null,["b"],"c"]})").command ==
        std::vector<std::string>{"a", "c"});
}

TEST_CASE("what no version writes is no event", "[record]") {
  for (const char* line : {"null", "true", "\"e\"", "{}", R"({"e":""})", R"({"e":null})",
                           R"({"e":["end"]})", R"(["e","end"])", R"({"E":"end"})",
                           R"({"e":"end"} {"e":"end"})", R"({"e":"end"},)", "{'e':'end'}"})
    CHECK_FALSE(record::read_line(line));
}

TEST_CASE("an event of another name is kept with its text, whatever that is", "[record]") {
  const auto words = [](const std::string& line) { return in_words(*record::read_line(line)); };
  CHECK(words(R"({"e":"Weather","text":"rain"})") == "rain");
  CHECK(words(R"({"e":"weather","text":7})").empty());
  CHECK(words(R"({"e":"weather"})").empty());
  CHECK(name(*record::read_line(R"({"e":"end "})")) == "end ");
}

TEST_CASE("of contradicting lists of ways only what is there is counted", "[record]") {
  const auto words = [](const record::Ways& ways) {
    return in_words(record::Line{{}, 0, record::Event{ways}});
  };
  CHECK(words({}) == "0 nodes, 0 of 0 ways are reached");
  CHECK(words({.hosts = {"a"},
               .from = {},
               .to = {},
               .interface = {},
               .end = {"refused"},
               .round_trip_us = {},
               .left_out = -3}) == "1 nodes, 0 of 1 ways are reached");
}

TEST_CASE("answers of ranks are told where nothing else is known of their collectives",
          "[record]") {
  const auto words = [](const record::Collectives& told) {
    return in_words(record::Line{{}, 0, record::Event{told}});
  };
  CHECK(words({{"rank 0: a", "rank 1: b"}, "", "", ""}) == "rank 0: a; rank 1: b");
  CHECK(words({{"rank 0: a"}, "", "rank 1 is behind", ""}) == "rank 1 is behind");
  CHECK(words({}).empty());
}

TEST_CASE("NCCL's choices are told as far as they are known", "[record]") {
  CHECK(record::in_words(record::Nccl{}).empty());
  CHECK(record::in_words(record::Nccl{"2.28.9", {}, {}, {}, {}, {}, ""}) == "2.28.9");
  CHECK(record::in_words(record::Nccl{"2.28.9", {}, {}, {}, {"NCCL_DEBUG"}, {}, "in bootstrap"}) ==
        "2.28.9 · in bootstrap");
}

TEST_CASE("each kind of verdict is read back from its word", "[record]") {
  for (const FailureKind kind :
       {FailureKind::failed, FailureKind::rank_died, FailureKind::raised,
        FailureKind::world_size_mismatch, FailureKind::duplicate_rank, FailureKind::hung,
        FailureKind::stood_still, FailureKind::driver_silent, FailureKind::stalled,
        FailureKind::interrupted, FailureKind::given_up}) {
    const record::Verdict event{safelaunch::name(kind), "group", "", {}, {}, 0};
    CHECK(record::failure_of(event).kind == kind);
    CHECK(record::failure_of(event).stage == Stage::group);
  }
}

TEST_CASE("a verdict without a stage is one before the first stage", "[record]") {
  CHECK(record::event_of(Failure{}).stage == name(Stage::spawned));
  CHECK_FALSE(record::failure_of({"hung", "warmup", "", {}, {}, 0}).stage);
}

// ---- the log that writes them

TEST_CASE("secrets of an event are not written, nor in any later event", "[event_log]") {
  const ScratchFolder scratch;
  redact::Redactor redactor;
  EventLog log(scratch.path / "events.jsonl", Clock::now(), redactor);
  log.record(record::Run{"r1", {"train.py", "--hf-token", "abcd1234efgh"}});
  log.record(record::Notice{"then abcd1234efgh was sent to https://bob:pw@host/x"});
  const std::string text = read_file(scratch.path / "events.jsonl");
  CHECK(text.find("abcd1234efgh") == std::string::npos);
  CHECK(text.find("bob:pw") == std::string::npos);
  CHECK(text.find(R"("command":["train.py","--hf-token","[redacted]"])") != std::string::npos);
  CHECK(text.find("then [redacted] was sent to https://bob:[redacted]@host/x") !=
        std::string::npos);
}

TEST_CASE("whatever bytes an event has, its line is one line of JSON", "[event_log]") {
  for (const std::string& text :
       {std::string("a\nb\r\nc"), std::string("a\0b", 3), std::string("\xff\xfe"),
        std::string("\xc3"), std::string("\xed\xa0\x80"), std::string("\"\\/\x01\x1f\x7f"),
        std::string(100'000, 'x'), std::string("\xe2\x80\xa8")}) {
    const std::string line = recorded_line(record::Notice{text});
    CHECK(std::count(line.begin(), line.end(), '\n') == 1);
    CHECK(record::read_line(line));
  }
}

TEST_CASE("text of an event comes back byte by byte where it is UTF-8", "[event_log]") {
  for (const std::string& text : {std::string("a\tb\nc\"d\\e"), std::string("ä€𝄞"),
                                  std::string("a\0b", 3), std::string(50'000, 'y')})
    CHECK(read_as<record::Notice>(recorded_line(record::Notice{text})).text == text);
}

TEST_CASE("numbers of an event come back at their bounds", "[event_log]") {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(read_as<record::Unheard>(recorded_line(record::Unheard{most})).count == most);
  const int least = std::numeric_limits<int>::min();
  CHECK(read_as<record::End>(recorded_line(record::End{least})).exit_status == least);
  std::vector<int> ranks(1'024);
  for (int i = 0; i < 1'024; ++i) ranks[static_cast<std::size_t>(i)] = i;
  CHECK(read_as<record::Node>(recorded_line(record::Node{0, "h", ranks})).ranks == ranks);
}

TEST_CASE("a log without a file is not ok, and takes events all the same", "[event_log]") {
  EventLog none;
  CHECK_FALSE(none.ok());
  none.record(record::Training{});
  none.record_some(record::Training{});
  none.count_the_rest();
  CHECK(none.lost() == 0);
}

TEST_CASE("a log in a folder that is not there is not ok", "[event_log]") {
  const ScratchFolder scratch;
  redact::Redactor redactor;
  EventLog log(scratch.path / "nowhere" / "events.jsonl", Clock::now(), redactor);
  log.record(record::Training{});
  CHECK_FALSE(log.ok());
}

TEST_CASE("a record is continued, never begun anew", "[event_log]") {
  const ScratchFolder scratch;
  redact::Redactor redactor;
  for (int i = 0; i < 2; ++i)
    EventLog(scratch.path / "events.jsonl", Clock::now(), redactor).record(record::Training{});
  const std::string text = read_file(scratch.path / "events.jsonl");
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
}

TEST_CASE("a hundred of a kind are recorded before any is counted", "[event_log]") {
  const ScratchFolder scratch;
  redact::Redactor redactor;
  EventLog log(scratch.path / "events.jsonl", Clock::now(), redactor);
  for (int i = 0; i < 100; ++i) log.record_some(record::Stall{"x", ""});
  log.count_the_rest();
  CHECK(read_file(scratch.path / "events.jsonl").find("unrecorded") == std::string::npos);
  for (int i = 0; i < 101; ++i) log.record_some(record::Stall{"x", ""});
  log.count_the_rest();
  log.count_the_rest();
  const std::string text = read_file(scratch.path / "events.jsonl");
  CHECK(text.ends_with("\"e\":\"unrecorded\",\"event\":\"stall\",\"count\":1}\n"));
}
