// The logs of eight versions of NCCL in thirteen scenes (tests/data/nccl).
#include "transcripts.h"
#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::nccl;
using safelaunch::testing::nccl_scenes;
using safelaunch::testing::ReadLog;

namespace {

const std::vector<std::string> kVersions{"2.18.5", "2.21.5", "2.24.3", "2.26.5",
                                         "2.27.7", "2.28.9", "2.29.7", "2.30.7"};

ReadLog read(const std::string& version, const std::string& scene) {
  const auto all = nccl_scenes(version);
  INFO(version << " " << scene);
  REQUIRE(all.contains(scene));
  return ReadLog(all.at(scene));
}

bool tells_before_bootstrap(const std::string& version) {
  return starts_before_bootstrap(*parse_nccl_version(version));
}

/// "rank 0 of 2 complete over P2P/IPC", one line a communicator, in the order of the log.
std::vector<std::string> stories(const Job& job) {
  std::map<int, std::string> by_rank;
  for (const auto& [name, process] : job.processes())
    for (const Comm& comm : process.comms) {
      std::string& text = by_rank[comm.part.rank];
      text += "rank " + std::to_string(comm.part.rank) + " of " + std::to_string(comm.part.ranks) +
              " " + describe(comm.step);
      for (const std::string& transport : comm.transports) text += ", " + transport;
      if (comm.connected) text += ", connected";
      if (comm.gone) text += ", gone";
    }
  std::vector<std::string> all;
  for (auto& [rank, text] : by_rank) all.push_back(std::move(text));
  return all;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a healthy job's ranks come through in all versions", "[nccl]") {
  for (const std::string& version : kVersions)
    for (const std::string scene : {"ok", "ok-cumem"}) {
      INFO(version << " " << scene);
      const ReadLog log = read(version, scene);
      // From 2.24 on cuMem is there, and connections wait for the first collective.
      const bool cumem = scene == "ok-cumem" && tells_before_bootstrap(version);
      const std::string how = cumem ? "P2P/CUMEM" : "P2P/IPC";
      // The transcripts of 2.30.7 end before the communicator's.
      const std::string end = version == "2.30.7" ? "" : ", gone";
      CHECK(stories(log.job) == Texts{"rank 0 of 2 complete, " + how + ", connected" + end,
                                      "rank 1 of 2 complete, " + how + ", connected" + end});
      CHECK(log.all<Through>().size() == 2);
      CHECK_FALSE(log.job.unfinished());
      CHECK(log.job.any_complete());
      CHECK(log.job.version() == parse_nccl_version(version));
      for (const auto& [name, process] : log.job.processes()) {
        CHECK(process.interface == "eth0");
        CHECK(process.network == "Socket");
      }
    }
}

TEST_CASE("a rank that never came is known from who did", "[nccl]") {
  for (const std::string& version : kVersions) {
    INFO(version);
    const ReadLog log = read(version, "missing-rank-1");
    CHECK(log.all<Waits>().size() == 2);
    CHECK(log.all<Through>().empty());
    if (!tells_before_bootstrap(version)) {
      CHECK(log.job.in_old_bootstrap() == 2);
      CHECK_FALSE(log.job.unfinished());
      continue;
    }
    const auto standing = log.job.unfinished();
    REQUIRE(standing);
    CHECK(standing->ranks == 3);
    CHECK(standing->missing() == std::vector<Rank>{Rank{1}});
    CHECK(standing->came ==
          std::map<Rank, Step>{{Rank{0}, Step::started}, {Rank{2}, Step::started}});
  }
}

TEST_CASE("a rank that comes twice is a contradiction at once", "[nccl]") {
  for (const std::string& version : kVersions) {
    INFO(version);
    const auto found = read(version, "duplicate-rank").all<Contradiction>();
    // The root says so in all versions; the lines of the two ranks show it too where there are any.
    REQUIRE(found.size() == (tells_before_bootstrap(version) ? 2 : 1));
    for (const Contradiction& one : found) {
      CHECK(one.about == RootComplaint::About::rank_twice);
      CHECK(one.text.starts_with("rank 1 of 3 came to NCCL twice"));
    }
  }
}

TEST_CASE("ranks that give other sizes are a contradiction at once", "[nccl]") {
  for (const std::string& version : kVersions) {
    INFO(version);
    const auto found = read(version, "nranks-differ").all<Contradiction>();
    REQUIRE_FALSE(found.empty());
    for (const Contradiction& one : found) {
      CHECK(one.about == RootComplaint::About::sizes_differ);
      CHECK(one.text == "the ranks gave NCCL different numbers of ranks: 3 and 4");
    }
  }
}

TEST_CASE("a root that died leaves who waits in silence", "[nccl]") {
  for (const std::string& version : kVersions) {
    INFO(version);
    const ReadLog log = read(version, "rank0-died");
    CHECK(log.all<Waits>().size() == 3);
    CHECK(log.all<Through>().empty());
    if (!tells_before_bootstrap(version)) continue;
    REQUIRE(log.job.unfinished());
    CHECK(log.job.unfinished()->missing().empty());
  }
}

TEST_CASE("each failure is said on the rank that has it", "[nccl]") {
  const std::map<std::string, std::string> words = {
      {"no-such-interface", "no socket interface found"},
      {"no-such-net", "network nosuch not found|Failed to initialize any NET plugin"},
      {"duplicate-gpu", "Duplicate GPU detected|Multiple Ranks are using the same GPU"},
      {"shm-small", "Error while creating shared memory segment"},
      {"shm-small-and-shm-off", "Error while creating shared memory segment"},
  };
  for (const std::string& version : kVersions)
    for (const auto& [scene, pattern] : words) {
      INFO(version << " " << scene);
      const bool dies_of_sigbus = version == "2.18.5" && scene.starts_with("shm-small");
      const auto said = read(version, scene).all<Said>();
      const std::size_t bar = pattern.find('|');
      const auto hits = std::count_if(said.begin(), said.end(), [&](const Said& one) {
        return one.text.find(pattern.substr(0, bar)) != std::string::npos ||
               (bar != std::string::npos &&
                one.text.find(pattern.substr(bar + 1)) != std::string::npos);
      });
      CHECK((hits > 0) != dies_of_sigbus);
      for (const Said& one : said) CHECK_FALSE(one.place.empty());
    }
}

TEST_CASE("variables that NCCL says to have read are known", "[nccl]") {
  for (const std::string& version : kVersions) {
    INFO(version);
    const ReadLog log = read(version, "no-such-interface");
    REQUIRE(log.job.processes().size() == 1);
    CHECK(log.job.processes().begin()->second.variables ==
          std::map<std::string, std::string>{{"NCCL_SOCKET_IFNAME", "nope"}});
  }
}

TEST_CASE("a number's full stop is none of its value", "[nccl]") {
  const ReadLog log = read("2.28.9", "shm-small-and-shm-off");
  REQUIRE(log.job.processes().size() == 2);
  CHECK(log.job.processes().begin()->second.variables.at("NCCL_SHM_DISABLE") == "1");
}

TEST_CASE("nodes and transports are those of the communicator", "[nccl]") {
  for (const std::string& version : kVersions) {
    if (version == "2.18.5") continue;  // it tells no nodes
    INFO(version);
    const ReadLog log = read(version, "two-nodes-by-hostid");
    REQUIRE(log.job.processes().size() == 2);
    for (const auto& [name, process] : log.job.processes()) {
      REQUIRE(process.comms.size() == 1);
      CHECK(process.comms[0].nodes == 2);
      CHECK(process.comms[0].transports == std::set<std::string>{"NET/Socket"});
    }
  }
}

TEST_CASE("shared memory is a transport, in whatever variant", "[nccl]") {
  for (const std::string& version : kVersions) {
    if (!tells_before_bootstrap(version)) continue;  // cuMem host buffers came with 2.23
    INFO(version);
    const ReadLog log = read(version, "shm-small-cumem-host");
    CHECK(stories(log.job).front().starts_with("rank 0 of 2 complete, SHM, connected"));
  }
}

TEST_CASE("every START and COMPLETE of the transcripts is read", "[nccl]") {
  std::size_t lines = 0;
  std::size_t facts = 0;
  for (const std::string& version : kVersions)
    for (const auto& [scene, text] : nccl_scenes(version))
      for (std::size_t at = 0; (at = text.find("- Init ", at)) != std::string::npos; ++at) {
        const std::size_t begin = text.rfind('\n', at) + 1;
        const auto line =
            split_nccl_line(std::string_view(text).substr(begin, text.find('\n', at) - begin));
        REQUIRE(line);
        const Fact fact = fact_of(*line);
        ++lines;
        if (const auto* started = std::get_if<InitStarted>(&fact))
          facts += started->id.has_value();
        else
          facts += std::holds_alternative<InitComplete>(fact);
      }
  CHECK(lines == 236);
  CHECK(facts == lines);
}
