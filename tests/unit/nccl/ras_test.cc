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
