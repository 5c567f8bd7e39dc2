// Communicators over the life of a job.
#include "safelaunch/nccl/job.h"
#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::nccl;

namespace {

/// A job whose processes are written line by line.
class Told {
 public:
  void version(int pid, const std::string& version) { say(pid, "NCCL version " + version); }
  void start(int pid, int rank, int ranks, const std::string& id, const std::string& at = "0x10") {
    say(pid, "ncclCommInitRank comm " + at + " rank " + std::to_string(rank) + " nranks " +
                 std::to_string(ranks) + " cudaDev 0 nvmlDev 0 busId 1 commId " + id +
                 " - Init START");
  }
  void split(int pid, int rank, int ranks, int color, const std::string& at) {
    say(pid, "ncclCommSplit comm " + at + " rank " + std::to_string(rank) + " nranks " +
                 std::to_string(ranks) +
                 " cudaDev 0 nvmlDev 0 busId 1 parent 0x10 splitCount 1 "
                 "color " +
                 std::to_string(color) + " key 0- Init START");
  }
  void complete(int pid, int rank, int ranks, const std::string& at = "0x10") {
    say(pid, "ncclCommInitRank comm " + at + " rank " + std::to_string(rank) + " nranks " +
                 std::to_string(ranks) + " cudaDev 0 nvmlDev 0 busId 1 commId 0x1 - Init COMPLETE");
  }
  void say(int pid, const std::string& text, int thread = 0) {
    const std::string number = std::to_string(pid);
    line("n:" + number + ":" + std::to_string(thread == 0 ? pid : thread) + " [0] NCCL INFO " +
         text);
  }
  void line(const std::string& text) {
    for (News& one : job.read(text)) news.push_back(std::move(one));
  }

  template <class News>
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(std::count_if(news.begin(), news.end(), [](const auto& one) {
      return std::holds_alternative<News>(one);
    }));
  }

  Job job;
  std::vector<News> news;
};

Told two_ranks_of_a_job() {
  Told told;
  for (const int pid : {71, 72}) told.version(pid, "2.28.9+cuda13.0");
  for (const int rank : {0, 1}) told.start(71 + rank, rank, 2, "0x1");
  for (const int rank : {0, 1}) told.complete(71 + rank, rank, 2);
  return told;
}

}  // namespace

TEST_CASE("a part of a job waits for its own members only", "[nccl]") {
  Told told = two_ranks_of_a_job();
  CHECK_FALSE(told.job.unfinished());

  told.split(71, 0, 2, 0, "0x20");

  REQUIRE(told.job.unfinished());
  CHECK(told.job.unfinished()->missing() == std::vector<Rank>{Rank{1}});
  told.split(72, 1, 2, 0, "0x30");
  CHECK(told.job.unfinished()->missing().empty());
}

TEST_CASE("the parts of a split are different communicators", "[nccl]") {
  Told told = two_ranks_of_a_job();

  told.split(71, 0, 3, 0, "0x20");
  told.split(72, 0, 3, 1, "0x20");  // the same address, in another process

  CHECK(told.count<Contradiction>() == 0);
  CHECK(told.job.unfinished()->came.size() == 1);
}

TEST_CASE("an address that is used again is another communicator", "[nccl]") {
  Told told = two_ranks_of_a_job();
  told.say(71, "comm 0x10 rank 0 nranks 2 cudaDev 0 busId 1 - Destroy COMPLETE");

  told.start(71, 0, 2, "0x2");

  const Process& process = told.job.processes().begin()->second;
  REQUIRE(process.comms.size() == 2);
  CHECK(process.comms[0].gone);
  CHECK(process.comms[1].step == Step::started);
  CHECK_FALSE(process.comms[1].gone);
}

TEST_CASE("several devices of one process are several ranks", "[nccl]") {
  Told told;
  told.version(71, "2.28.9");
  for (const int rank : {0, 1}) told.start(71, rank, 2, "0x1", rank == 0 ? "0x10" : "0x20");

  CHECK(told.count<Contradiction>() == 0);
  CHECK(told.job.unfinished()->missing().empty());
}

TEST_CASE("an id for all communicators, as NCCL_COMM_ID gives it, is no rank come twice",
          "[nccl]") {
  Told told = two_ranks_of_a_job();

  for (const int rank : {0, 1}) told.start(72 - rank, rank, 2, "0x1", "0x20");

  CHECK(told.count<Contradiction>() == 0);
}

TEST_CASE("logs that are read one after the other make nobody come twice", "[nccl]") {
  Told told;
  for (const int rank : {0, 1}) {
    told.version(71 + rank, "2.28.9");
    told.start(71 + rank, rank, 2, "0x1");
    told.complete(71 + rank, rank, 2);
  }
  CHECK(told.count<Contradiction>() == 0);
  CHECK_FALSE(told.job.unfinished());
}

TEST_CASE("a world of one waits for nobody", "[nccl]") {
  Told told;
  told.version(71, "2.28.9");
  told.say(71, "Using network Socket");
  told.start(71, 0, 1, "0x1");
  told.complete(71, 0, 1);
  CHECK(told.count<Waits>() == 0);
  CHECK_FALSE(told.job.any_complete());
}

TEST_CASE("before 2.23 the network is the last word of who waits", "[nccl]") {
  Told told;
  told.version(71, "2.21.5+cuda12.4");
  for (const int pid : {71, 72}) told.say(pid, "Using network Socket");
  CHECK(told.count<Waits>() == 2);
  CHECK(told.job.in_old_bootstrap() == 2);

  told.start(71, 0, 2, "0x1");
  CHECK(told.job.in_old_bootstrap() == 1);
  CHECK(told.job.processes().begin()->second.comms[0].step == Step::bootstrapped);
}

TEST_CASE("a connection in another thread is the newest communicator's", "[nccl]") {
  Told told = two_ranks_of_a_job();
  told.say(71, "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM", 99);
  told.say(71, "Connected all rings, use ring PXN 0 GDR 1", 99);

  const Comm& comm = told.job.processes().begin()->second.comms[0];
  CHECK(comm.connected);
  CHECK(comm.transports == std::set<std::string>{"P2P/CUMEM"});
}

TEST_CASE("hints are said behind their warning, and nowhere else", "[nccl]") {
  Told told;
  told.say(71, "HINT: alone");
  told.line("n:71:71 [0] net_ib.cc:7 NCCL WARN NET/IB: Got completion with error 12");
  told.say(71, "HINT: one");
  told.say(71, "HINT: two");
  told.say(71, "Using network Socket");
  told.say(71, "HINT: alone");
  CHECK(told.count<Said>() == 3);
}

TEST_CASE("a warning that a healthy NCCL 2.30 writes without libibverbs is not said", "[nccl]") {
  Told told;
  told.line(
      "n:71:71 [0] misc/ibvwrap.cc:185 (wrap_ibv_alloc_pd) NCCL WARN lib wrapper not initialized.");
  CHECK(told.count<Said>() == 0);
}

TEST_CASE("a communicator goes through its steps, and never back", "[nccl]") {
  Told told;
  told.version(71, "2.28.9");
  const auto step = [&] { return told.job.processes().begin()->second.comms.at(0).step; };
  told.start(71, 0, 2, "0x1");
  CHECK(step() == Step::started);
  told.say(71, "Bootstrap timings total 0.002");
  CHECK(step() == Step::bootstrapped);
  told.say(71, "comm 0x10 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0");
  CHECK(step() == Step::topology);
  CHECK(told.job.processes().begin()->second.comms.at(0).nodes == 1);
  told.complete(71, 0, 2);
  told.say(71, "Bootstrap timings total 0.002");
  CHECK(step() == Step::complete);
}

TEST_CASE("of several communicators that wait, the one that most have come to is told", "[nccl]") {
  Told told;
  for (const int pid : {71, 72, 73}) told.version(pid, "2.28.9");
  told.start(71, 0, 4, "0x1");
  for (const int rank : {0, 2}) told.start(72 + rank / 2, rank, 3, "0x2", "0x20");
  REQUIRE(told.job.unfinished());
  CHECK(told.job.unfinished()->ranks == 3);
  CHECK(told.job.unfinished()->missing() == std::vector<Rank>{Rank{1}});
}

TEST_CASE("a communicator that was aborted is not waited for", "[nccl]") {
  Told told;
  told.version(71, "2.28.9");
  told.start(71, 0, 2, "0x1");
  told.say(71, "comm 0x10 rank 0 nranks 2 cudaDev 0 busId 1 - Abort COMPLETE");
  CHECK_FALSE(told.job.unfinished());
}

TEST_CASE("ranks that give one communicator two sizes contradict each other", "[nccl]") {
  Told told;
  for (const int pid : {71, 72}) told.version(pid, "2.28.9");
  told.start(71, 0, 4, "0x1");
  told.start(72, 1, 3, "0x1");
  REQUIRE(told.count<Contradiction>() == 1);
  const auto& found = std::get<Contradiction>(told.news.back());
  CHECK(found.about == RootComplaint::About::sizes_differ);
  CHECK(found.text == "the ranks gave NCCL different numbers of ranks: 3 and 4");
}

TEST_CASE("a split of a communicator that nobody has seen begin belongs to no roster", "[nccl]") {
  Told told;
  told.version(71, "2.28.9");
  told.split(71, 0, 2, 0, "0x20");
  CHECK_FALSE(told.job.unfinished());
  CHECK(told.job.processes().begin()->second.comms.size() == 1);
}

TEST_CASE("lines about a communicator that the log has not begun are passed over", "[nccl]") {
  Told told;
  told.version(71, "2.28.9");
  told.say(71, "Bootstrap timings total 0.002");
  told.say(71, "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC");
  told.say(71, "Connected all rings");
  told.say(71, "comm 0x10 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0");
  told.say(71, "comm 0x10 rank 0 nranks 2 cudaDev 0 busId 1 - Destroy COMPLETE");
  told.say(71, "AllReduce: opCount 0 sendbuff 0x1 count 1 comm 0x10 [nranks=2] stream 0x3");
  CHECK(told.job.processes().begin()->second.comms.empty());
  CHECK(told.news.size() == told.count<Prepares>());
}

TEST_CASE("a collective is the communicator's whose address it names", "[nccl]") {
  Told told = two_ranks_of_a_job();
  told.start(71, 0, 2, "0x2", "0x20");
  told.say(71, "AllReduce: opCount 0 sendbuff 0x1 count 1 comm 0x10 [nranks=2] stream 0x3");
  const auto& comms = told.job.processes().begin()->second.comms;
  CHECK(comms.at(0).called);
  CHECK_FALSE(comms.at(1).called);
}

TEST_CASE("a process keeps so many variables and transports, however many its log tells",
          "[nccl][fuzz]") {
  Told told = two_ranks_of_a_job();
  for (int i = 0; i < 1'000; ++i) {
    told.say(71, "NCCL_X" + std::to_string(i) + " set by environment to 1.");
    told.say(71, "Channel 00/0 : 0[0] -> 1[1] via NET/N" + std::to_string(i));
  }
  const Process& process = told.job.processes().begin()->second;
  CHECK(process.variables.size() == 512);
  CHECK(process.comms.at(0).transports.size() == 16);
}

TEST_CASE("each step is told in words of its own", "[nccl]") {
  CHECK(std::string(describe(Step::started)) == "in its bootstrap");
  CHECK(std::string(describe(Step::complete)) == "complete");
}

// On an H200 whose device was at work NCCL 2.28.9 stood here for 14 s, and its timings said
// "kernels".
TEST_CASE("NCCL that has begun and not come to its bootstrap prepares, and waits for nobody",
          "[nccl]") {
  Told told;
  told.version(71, "2.28.9+cuda13.0");
  CHECK(told.count<Prepares>() == 1);
  CHECK(told.count<Waits>() == 0);
  told.start(71, 0, 2, "0x1");
  CHECK(told.count<Waits>() == 1);
  Told old;  // "Init START" comes behind the bootstrap
  old.version(71, "2.21.5+cuda12.4");
  CHECK(old.count<Prepares>() == 0);
}
