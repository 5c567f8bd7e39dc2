#include <random>

#include "catch.h"
#include "safelaunch/nccl/ras.h"

using namespace safelaunch;

using namespace safelaunch::nccl;

namespace {

// As NCCL 2.29.7 answers while rank 1 has stayed behind, and rank 2's process is gone.
const std::string kAnswer = R"(SERVER PROTOCOL 2
OK
NCCL version 2.29.7 compiled with CUDA 13.0
CUDA runtime version 13000, driver version 13000

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      1          4            1          4        4

Communicators... (0.20s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         1         4         4         4   RUNNING  INCOMPLETE,MISMATCH

Errors
======

INCOMPLETE
  Missing communicator data from 1 job process
  Process 4713 on node 192.0.2.2 managing GPU 2

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 4714 on node 192.0.2.3 managing GPUs 3,4

#0-0 (f84550c4003b0719) INCOMPLETE
  Missing communicator data from 1 rank
  Rank 2 -- GPU 2 managed by process 4713 on node 192.0.2.2

Warnings
========

#0-0 (f84550c4003b0719) MISMATCH
  Communicator ranks have different status
  3 ranks have status RUNNING
  Rank 2 has status NOCOMM -- GPU 2 managed by process 4713 on node 192.0.2.2
  Communicator ranks have different AllReduce operation counts
  2 ranks have launched up to operation 5
  Rank 1 has launched up to operation 2 -- GPU 1 managed by process 4712 on node 192.0.2.2
  Communicator ranks have different Broadcast operation counts
  2 ranks have launched up to operation 1
  2 ranks have not launched any operations
  Rank 0 -- GPU 0 managed by process 4711 on node 192.0.2.2
  Rank 3 -- GPU 3 managed by process 4714 on node 192.0.2.3

)";

}  // namespace

TEST_CASE("an answer of RAS names who is missing, who is dead and who is behind", "[nccl]") {
  const RasReport report = parse_ras(kAnswer);

  CHECK(report.whole);
  REQUIRE(report.missing.size() == 1);
  CHECK(report.missing[0].pid == 4713);
  CHECK(report.missing[0].node == "192.0.2.2");
  CHECK(report.missing[0].gpus == "2");
  REQUIRE(report.dead.size() == 1);
  CHECK(report.dead[0].gpus == "3,4");
  CHECK(report.missing_ranks == std::vector<Rank>{Rank{2}});
  REQUIRE(report.diverging.size() == 2);
  CHECK(report.diverging[0].operation == "AllReduce");
  REQUIRE(report.diverging[0].groups.size() == 2);
  CHECK(report.diverging[0].groups[1].launched == 2);
  CHECK(report.diverging[0].groups[1].named == std::vector<Rank>{Rank{1}});
  CHECK(report.diverging[1].groups[1].launched == 0);
  CHECK(report.diverging[1].groups[1].named == std::vector<Rank>{Rank{0}, Rank{3}});
}

TEST_CASE("RAS's answer is a sentence", "[nccl]") {
  CHECK(describe(parse_ras(kAnswer)) ==
        "rank 1 launched 2 of 5 AllReduce; ranks 0 3 launched 0 of 1 Broadcast; process 4714 on "
        "192.0.2.3 (GPU 3,4) is dead; process 4713 on 192.0.2.2 (GPU 2) does not answer");
}

TEST_CASE("where RAS finds nothing amiss there is nothing to say", "[nccl]") {
  const RasReport report = parse_ras("Errors\n======\n\nWarnings\n========\n\n");
  CHECK(report.whole);
  CHECK(describe(report).empty());
}

TEST_CASE("an answer that was cut is known to be", "[nccl]") {
  CHECK_FALSE(parse_ras(kAnswer.substr(0, kAnswer.find("Warnings"))).whole);
  CHECK_FALSE(parse_ras("").whole);
}

TEST_CASE("whatever answers at RAS's port does no harm", "[nccl][fuzz]") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::string text = kAnswer;
    for (int change = 0; change < 60; ++change)
      text[random() % text.size()] = static_cast<char>(random());
    (void)describe(parse_ras(text));
  }
  std::string flood = "DEAD\n";
  for (int i = 0; i < 5000; ++i) flood += "  Process 1 on node a managing GPU 0\n";
  CHECK(parse_ras(flood).dead.size() == 1024);
}

TEST_CASE("RAS is never asked on versions that a query has crashed", "[nccl]") {
  CHECK_FALSE(may_ask_ras({2, 23, 4}));
  CHECK(may_ask_ras({2, 24, 3}));
  CHECK_FALSE(may_ask_ras({2, 26, 5}));
  CHECK_FALSE(may_ask_ras({2, 27, 7}));
  CHECK(may_ask_ras({2, 28, 9}));
  CHECK(may_ask_ras({2, 29, 7}));
}

TEST_CASE("RAS is asked of no version before it, and of every later main version", "[nccl]") {
  CHECK_FALSE(may_ask_ras({1, 26, 0}));
  CHECK_FALSE(may_ask_ras({2, 23, 99}));
  CHECK(may_ask_ras({2, 25, 0}));
  CHECK(may_ask_ras({3, 26, 0}));
}

TEST_CASE("a process without a GPU in RAS's answer is told without one", "[nccl]") {
  CHECK(describe(parse_ras("DEAD\n  Process 71 on node gpu-1\n  Process 72 on node gpu-2 managing "
                           "GPU 5\n")) ==
        "process 71 on gpu-1 is dead; process 72 on gpu-2 (GPU 5) is dead");
}

TEST_CASE("lines under a headline that does not matter are passed over", "[nccl]") {
  const RasReport report = parse_ras(
      "DEAD\n  Process 71 on node a managing GPU 0\nOTHER\n  Process 72 on node a managing GPU 1\n"
      "#0-0 (f8) ABORTED\n  Rank 3 -- GPU 0 managed by process 73 on node a\n");
  REQUIRE(report.dead.size() == 1);
  CHECK(report.dead[0].pid == 71);
  CHECK(report.missing_ranks.empty());
}

TEST_CASE("lines of RAS that are not whole name nobody", "[nccl]") {
  const RasReport report = parse_ras(
      "INCOMPLETE\n  Process x on node a managing GPU 0\n  Process 71\n  Process 71 at node a\n"
      "#0-0 (f8) INCOMPLETE\n  Rank x -- GPU 0\n  Ranks 3\n");
  CHECK(report.missing.empty());
  CHECK(report.missing_ranks.empty());
}

namespace {

RasReport mismatch(const std::string& lines) {
  return parse_ras("#0-0 (f8) MISMATCH\n" + lines);
}

}  // namespace

TEST_CASE("ranks that differ in their status alone are not behind", "[nccl]") {
  CHECK(mismatch("  Communicator ranks have different status\n  1 ranks have status RUNNING\n"
                 "  Rank 2 has launched up to operation 2\n")
            .diverging.empty());
}

TEST_CASE("ranks that are equally far in a collective are not told", "[nccl]") {
  CHECK(describe(mismatch("  Communicator ranks have different AllReduce operation counts\n"
                          "  2 ranks have launched up to operation 5\n")) == "");
}

TEST_CASE("many ranks that are behind are counted, and few are named", "[nccl]") {
  CHECK(describe(mismatch("  Communicator ranks have different AllReduce operation counts\n"
                          "  7 ranks have launched up to operation 5\n"
                          "  9 ranks have launched up to operation 4\n"
                          "  2 ranks have not launched any operations\n"
                          "  Rank 3 -- GPU 3 managed by process 4 on node a\n"
                          "  Rank x -- GPU 3 managed by process 4 on node a\n")) ==
        "9 ranks launched 4 of 5 AllReduce; rank 3 launched 0 of 5 AllReduce");
}

TEST_CASE("counts of RAS that are no numbers tell nothing", "[nccl]") {
  CHECK(describe(mismatch("  Communicator ranks have different AllReduce operation counts\n"
                          "  2 ranks have launched up to operation 99999999999999999999\n"
                          "  x ranks have launched up to operation 5\n"
                          "  Rank 1 has launched up to operation -\n")) == "");
}

TEST_CASE("an answer with carriage returns reads the same", "[nccl]") {
  std::string text;
  for (const char sign : kAnswer) text += sign == '\n' ? std::string("\r\n") : std::string(1, sign);
  CHECK(describe(parse_ras(text)) == describe(parse_ras(kAnswer)));
  CHECK(parse_ras(text).whole);
}
