#include <boost/asio/io_context.hpp>
#include <fstream>

#include "catch.h"
#include "safelaunch/nccl/watch.h"

using namespace safelaunch;

using namespace safelaunch::nccl;
namespace fs = std::filesystem;

namespace {

constexpr output::StreamId kOut{std::nullopt, output::StdStream::out};

/// NCCL of a job of `world` ranks, as it is heard. Process 71 is rank 0, 72 is rank 1, …
class Heard {
 public:
  Heard(Listening listening, int world)
      : world_(world),
        watch_(io_, std::move(listening),
               {rank_of, [this] { return world_; }, [] { return false; },
                [this](const LogNews& news) { hear(news); }}) {}

  Watch& watch() { return watch_; }
  void writes(const std::string& lines) { watch_.saw_output(kOut, lines); }

  std::vector<std::string> stages;
  std::vector<std::string> contradictions;
  std::vector<std::string> said;

 private:
  static std::optional<RankStarted> rank_of(const ProcessName& who, const std::optional<Part>&) {
    if (who.pid < 71) return std::nullopt;
    return RankStarted{Rank{who.pid - 71}, {who.pid, 1}, std::nullopt, Source::nccl_log};
  }
  void hear(const LogNews& news) {
    if (const auto* told = std::get_if<Progress>(&news)) note(told->event);
    if (const auto* one = std::get_if<Contradiction>(&news)) contradictions.push_back(one->text);
    if (const auto* spoke = std::get_if<Spoke>(&news))
      said.push_back((spoke->rank ? std::to_string(spoke->rank->value) : "?") + ": " +
                     spoke->said.text);
  }
  void note(const Event& event) {
    if (const auto* entered = std::get_if<StageEntered>(&event))
      stages.push_back("rank " + std::to_string(entered->rank.value) + " waits");
    if (const auto* reached = std::get_if<StageReached>(&event))
      stages.push_back("rank " + std::to_string(reached->rank.value) + " is through");
  }

  boost::asio::io_context io_;
  int world_;
  Watch watch_;
};

Listening in_streams() {
  Listening listening;
  listening.way = Listening::Way::streams;
  listening.owner = Listening::Owner::user;
  return listening;
}

std::string info(int pid, const std::string& text) {
  const std::string number = std::to_string(pid);
  return "node:" + number + ":" + number + " [0] NCCL INFO " + text + "\n";
}

std::string version(int pid) {
  return info(pid, "NCCL version 2.28.9+cuda13.0");
}

std::string init(int pid, int rank, int ranks, const std::string& step) {
  return info(pid, "ncclCommInitRank comm 0x10 rank " + std::to_string(rank) + " nranks " +
                       std::to_string(ranks) + " cudaDev 0 nvmlDev 0 busId 1 commId 0x1 - Init " +
                       step);
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("NCCL's lines in the job's own output tell its stages", "[nccl]") {
  Heard heard(in_streams(), 2);
  const std::string lines = version(71) + init(71, 0, 2, "START") + "epoch 1\n" + version(72) +
                            init(72, 1, 2, "START") + init(71, 0, 2, "COMPLETE");
  for (const char c : lines) heard.writes({c});  // chunks end anywhere

  CHECK(heard.stages == Texts{"rank 0 waits", "rank 1 waits", "rank 0 is through"});
}

TEST_CASE("what stands on the user's terminal already is not said again", "[nccl]") {
  Heard heard(in_streams(), 2);
  heard.writes("node:71:71 [0] init.cc:1 NCCL WARN Something\n");
  CHECK(heard.said.empty());
}

TEST_CASE("nobody waits for ranks that belong to no part of the job", "[nccl]") {
  Heard heard(in_streams(), 4);
  heard.writes(version(71) + init(71, 0, 2, "START"));
  CHECK(heard.stages.empty());
  heard.writes(init(71, 0, 2, "COMPLETE"));
  CHECK(heard.stages == Texts{"rank 0 is through"});
}

TEST_CASE("a rank that comes twice is told at once", "[nccl]") {
  Heard heard(in_streams(), 3);
  heard.writes(version(71) + version(72) + init(71, 1, 3, "START") + init(72, 1, 3, "START"));
  CHECK(heard.contradictions == Texts{"rank 1 of 3 came to NCCL twice: pid 71 and pid 72"});
}

TEST_CASE("the record names who has not come", "[nccl]") {
  Heard heard(in_streams(), 3);
  for (const int rank : {0, 2})
    heard.writes(version(71 + rank) + init(71 + rank, rank, 3, "START"));
  CHECK(describe_standing(heard.watch().record()) == "rank 1 of 3 never came to NCCL");

  heard.writes(version(72) + init(72, 1, 3, "START") + info(72, "Bootstrap timings total 0.1"));
  CHECK(describe_standing(heard.watch().record()) ==
        "all 3 ranks came to NCCL: ranks 0 2 in its bootstrap, rank 1 past its bootstrap");

  for (const int rank : {0, 1, 2}) heard.writes(init(71 + rank, rank, 3, "COMPLETE"));
  CHECK(describe_standing(heard.watch().record()).empty());
}

TEST_CASE("a variable that was set and that NCCL has not read is recorded", "[nccl]") {
  Listening listening = in_streams();
  listening.set = {"NCCL_P2P_DISABLE", "NCCL_CUMEM_HOST_ENABLE", "NCCL_NET",
                   "NCCL_PROGRESS_COUNTERS"};
  Heard heard(listening, 2);
  heard.writes(version(71) + info(71, "NCCL_P2P_DISABLE set by environment to 1") +
               init(71, 0, 2, "START"));
  CHECK(heard.watch().record().unread.empty());  // it may still come

  heard.writes(init(71, 0, 2, "COMPLETE"));

  const Record record = heard.watch().record();
  CHECK(record.variables == Texts{"NCCL_P2P_DISABLE=1"});
  // NCCL_NET is read without a word, and 2.28 does not know the last one.
  CHECK(record.unread == Texts{"NCCL_CUMEM_HOST_ENABLE"});
}

TEST_CASE("warnings in files of ours are said once, with their rank", "[nccl]") {
  std::string name = (fs::temp_directory_path() / "nccl-watch-XXXXXX").native();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  Listening listening;
  listening.way = Listening::Way::files;
  listening.file = {name, "nccl.%h.%p"};
  Heard heard(listening, 2);

  const std::string warn = " [0] init.cc:1 NCCL WARN No space left\n";
  std::ofstream(name + "/nccl.node.71") << "node:71:71" + warn + info(71, "HINT: make room");
  std::ofstream(name + "/nccl.node.72") << "node:72:72" + warn;
  std::ofstream(name + "/nccl.node.7") << "node:7:7 [0] init.cc:1 NCCL WARN Of a stranger\n";
  heard.watch().read_now();

  std::sort(heard.said.begin(), heard.said.end());
  CHECK(heard.said == Texts{"0: HINT: make room", "0: No space left", "?: Of a stranger"});
  const Record record = heard.watch().record();
  REQUIRE(record.logs.size() == 3);
  CHECK(record.logs[1].name == "nccl.node.71");
  CHECK(record.logs[1].rank == Rank{0});
  CHECK(record.logs[2].rank == Rank{1});

  heard.watch().stop();
  std::ofstream(name + "/nccl.node.73") << "node:73:73 [0] init.cc:1 NCCL WARN Too late\n";
  heard.watch().read_now();
  CHECK(heard.said.size() == 3);
  fs::remove_all(name);
}

TEST_CASE("the lines of two streams do not mix, wherever their chunks end", "[nccl]") {
  Heard heard(in_streams(), 2);
  heard.writes(version(71));
  const std::string start = init(71, 0, 2, "START");
  heard.writes(start.substr(0, 30));
  heard.watch().saw_output({Rank{1}, output::StdStream::err}, version(72) + "half a li");
  heard.writes(start.substr(30));
  CHECK(heard.stages == Texts{"rank 0 waits"});
}

TEST_CASE("a process that belongs to no rank of the job tells no stage", "[nccl]") {
  Heard heard(in_streams(), 2);
  heard.writes(version(70) + init(70, 0, 2, "START") + init(70, 0, 2, "COMPLETE"));
  CHECK(heard.stages.empty());
  CHECK(heard.watch().record().any);
}

TEST_CASE("where the size of the job is not known any communicator tells a stage", "[nccl]") {
  Heard heard(in_streams(), 0);
  heard.writes(version(71) + init(71, 0, 2, "START"));
  CHECK(heard.stages == Texts{"rank 0 waits"});
}

TEST_CASE("a watch that was stopped, or that looks elsewhere, hears nothing", "[nccl]") {
  Heard stopped(in_streams(), 2);
  stopped.watch().stop();
  Heard elsewhere({}, 2);
  for (Heard* heard : {&stopped, &elsewhere}) {
    heard->writes(version(71) + init(71, 0, 2, "START"));
    CHECK(heard->stages.empty());
    CHECK_FALSE(heard->watch().record().any);
  }
}

TEST_CASE("the record holds what all processes tell, each thing once", "[nccl]") {
  Heard heard(in_streams(), 2);
  for (const int pid : {71, 72})
    heard.writes(version(pid) + info(pid, "Bootstrap: Using eth0:192.0.2.2<0>") +
                 info(pid, "Using network Socket") +
                 info(pid, "NCCL_P2P_DISABLE set by environment to 1.") +
                 info(pid, "NCCL_PROFILER_PLUGIN set by environment to x") +
                 init(pid, pid - 71, 2, "START") +
                 info(pid, "Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct"));
  heard.writes(info(73, "NCCL version 2.27.7+cuda12.4"));
  const Record record = heard.watch().record();
  CHECK(record.version == Version{2, 28, 9});
  CHECK(record.versions == std::set<Version>{{2, 27, 7}, {2, 28, 9}});
  CHECK(record.interfaces == std::set<std::string>{"eth0"});
  CHECK(record.networks == std::set<std::string>{"Socket"});
  CHECK(record.transports == std::set<std::string>{"SHM"});
  CHECK(record.variables == Texts{"NCCL_P2P_DISABLE=1"});
  CHECK_FALSE(record.complete);
  CHECK(describe_standing(record) == "all 2 ranks came to NCCL: ranks 0 1 in its bootstrap");
}

TEST_CASE("where the ranks stand in NCCL is a sentence, and nothing where nobody waits", "[nccl]") {
  const auto standing = [](int ranks, std::map<Rank, Step> came, int old = 0) {
    Record record;
    record.standing = Standing{ranks, std::move(came)};
    record.in_old_bootstrap = old;
    return describe_standing(record);
  };
  CHECK(describe_standing({}).empty());
  CHECK(standing(3, {{Rank{0}, Step::started}, {Rank{2}, Step::started}}) ==
        "rank 1 of 3 never came to NCCL");
  CHECK(standing(4, {{Rank{1}, Step::complete}}) == "ranks 0 2 3 of 4 never came to NCCL");
  CHECK(standing(2, {{Rank{0}, Step::bootstrapped}, {Rank{1}, Step::topology}}) ==
        "all 2 ranks came to NCCL: rank 0 past its bootstrap, rank 1 connecting");
  CHECK(standing(2, {{Rank{0}, Step::complete}, {Rank{1}, Step::topology}}) ==
        "all 2 ranks came to NCCL: rank 1 connecting, rank 0 complete");
  CHECK(standing(2, {}, 1) == "1 process waits in NCCL's bootstrap");
  CHECK(standing(2, {}, 2) == "2 processes wait in NCCL's bootstrap");
}
