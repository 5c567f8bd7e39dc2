#include "launcher/run/other_nodes.h"

#include "catch.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/nodes/node_evidence.h"
#include "safelaunch/nodes/node_facts.h"

using namespace safelaunch;
using namespace safelaunch::run;

namespace {

agree::NodeNews with_facts(const nodes::NodeFacts& facts) {
  agree::NodeNews news;
  news.facts = nodes::to_text(facts);
  return news;
}

OtherNode node_at(int seat, const std::string& host, agree::NodeNews news = {}) {
  return {{seat, host}, true, std::move(news)};
}

/// A node whose attempt has ended with this status.
OtherNode ended_at(int seat, int exit_code, agree::NodePhase phase = agree::NodePhase::ended) {
  agree::NodeNews news;
  news.phase = phase;
  news.end.emplace();
  news.end->attempt = 1;
  news.end->exit_code = exit_code;
  return node_at(seat, "gpu-" + std::to_string(seat), std::move(news));
}

/// The news of a node on which a rank has failed in this attempt.
OtherNode with_failed_rank(int seat, int rank, int attempt = 1) {
  OtherNode node = ended_at(seat, 1);
  ranks::RankPicture picture{.rank = Rank{rank}, .process = {500 + rank, 9}};
  picture.ended = true;
  picture.status = Exited{7};
  node.news.ranks = ranks::to_text(ranks::NodePicture{attempt, {picture}});
  return node;
}

NodesReady compared(const agree::NodeNews& here, const OtherNodes& others) {
  return compare_nodes({"gpu-0", here}, others);
}

AttemptRecord ended_well() {
  AttemptRecord record;
  record.command = Exited{0};
  return record;
}

profile::Profile with_processes(std::optional<int> processes) {
  profile::Profile profile;
  profile.processes = processes;
  return profile;
}

}  // namespace

TEST_CASE("each node starts as many ranks as it has told, whichever have told", "[other_nodes]") {
  agree::NodeNews here;
  here.workers = 8;
  agree::NodeNews four;
  four.workers = 4;
  const OtherNodes others{{1, node_at(1, "a", four)}, {9, node_at(9, "spare", four)}};
  CHECK(workers_of_nodes(3, here, others, with_processes({})) == std::vector<int>{8, 4, 0});
}

TEST_CASE("a profile's number of processes is every node's", "[other_nodes]") {
  agree::NodeNews here;
  here.workers = 8;
  CHECK(workers_of_nodes(3, here, {}, with_processes(2)) == std::vector<int>{2, 2, 2});
}

TEST_CASE("what the checks of a node have found is told under its name", "[other_nodes]") {
  agree::NodeNews risky;
  risky.findings = {"risk: shm-small", "risk: nofile-low"};
  const NodesReady ready = compared({}, {{1, node_at(1, "gpu-1", risky)}});
  CHECK(ready.lines == std::vector<std::string>{"gpu-1 (node 1): risk: shm-small",
                                                "gpu-1 (node 1): risk: nofile-low"});
  CHECK(ready.blocked.empty());
}

TEST_CASE("the first node that is blocked forbids the job, this one before all others",
          "[other_nodes]") {
  agree::NodeNews blocked;
  blocked.blocked = true;
  blocked.findings = {"blocked: no torch"};
  const OtherNodes others{{1, node_at(1, "gpu-1", blocked)}, {2, node_at(2, "gpu-2", blocked)}};
  CHECK(compared({}, others).blocked == "gpu-1 (node 1) is blocked: no torch");
  CHECK(compared({}, others).lines.empty());
  CHECK(compared(blocked, others).blocked == "blocked: no torch");
}

TEST_CASE("a node that is blocked and does not say why forbids nothing", "[other_nodes]") {
  agree::NodeNews mute;
  mute.blocked = true;
  CHECK(compared(mute, {{1, node_at(1, "gpu-1", mute)}}).blocked.empty());
}

TEST_CASE("where nodes differ is a risk that names both", "[other_nodes]") {
  const NodesReady ready = compared(with_facts({{"torch", "2.13"}}),
                                    {{1, node_at(1, "gpu-1", with_facts({{"torch", "2.12"}}))}});
  CHECK(ready.lines ==
        std::vector<std::string>{"risk: the nodes differ in torch: 2.12 on gpu-1, 2.13 on gpu-0"});
}

TEST_CASE("nodes that have one name differ all the same, and are told apart by their seats",
          "[other_nodes]") {
  const agree::NodeNews here = with_facts({{"torch", "2.13"}});
  const NodesReady ready = compare_nodes(
      {"localhost", here}, {{1, node_at(1, "localhost", with_facts({{"torch", "2.12"}}))},
                            {2, node_at(2, "gpu-2", with_facts({{"torch", "2.13"}}))}});
  CHECK(ready.lines == std::vector<std::string>{
                           "risk: the nodes differ in torch: 2.12 on localhost (node 1), 2.13 on "
                           "gpu-2 localhost (node 0)"});
}

TEST_CASE("how the nodes reach each other is found from the doors and ways that they tell",
          "[other_nodes]") {
  const auto news_of = [](const std::string& address, int other, nodes::Way::End end) {
    nodes::NodeDoors doors;
    doors.name = address;
    doors.doors = {{"eth0", address, 1000}};
    doors.nccl = "eth0";
    agree::NodeNews news;
    news.doors = nodes::to_text(doors);
    news.ways = nodes::to_text(std::vector<nodes::Way>{{other, "eth0", end}});
    return news;
  };
  const agree::NodeNews here = news_of("10.0.0.1", 1, nodes::Way::End::refused);
  const OtherNodes others{
      {1, node_at(1, "gpu-1", news_of("10.0.0.2", 0, nodes::Way::End::reached))}};
  const nodes::Mesh mesh = mesh_of({"gpu-0", here}, others);
  REQUIRE(mesh.size() == 2);
  CHECK(mesh.at(0).host == "gpu-0");
  CHECK(mesh.at(1).doors.doors.front().address == "10.0.0.2");
  const auto findings = compared(here, others).findings;
  REQUIRE(findings.size() == 1);
  CHECK(findings.front().cause == cause::kConnectFailed);
}

TEST_CASE("a node that has not tried its ways yet has none", "[other_nodes]") {
  const agree::NodeNews here;
  const nodes::Mesh mesh = mesh_of({"gpu-0", here}, {{1, node_at(1, "gpu-1")}});
  CHECK_FALSE(mesh.at(0).ways);
  CHECK_FALSE(mesh.at(1).ways);
}

TEST_CASE("nodes are named with their seats, also one that was never heard of", "[other_nodes]") {
  const agree::NodeNews here;
  const auto lost = names_of({0, 1, 7}, {"gpu-0.cluster", here}, {{1, node_at(1, "gpu-17")}});
  const std::string told =
      "no word from node 0 (gpu-0.cluster), node 1 (gpu-17) and node 7 for too long; the job was "
      "stopped";
  CHECK(end_of_nodes({}, lost, false)->why == told);
  CHECK(end_of_nodes({}, lost, true)->why ==
        told + "; Slurm starts the job elsewhere with --exclude=gpu-0,gpu-17");
  CHECK(end_of_nodes({}, {{7, ""}}, true)->why ==
        "no word from node 7 for too long; the job was stopped");
}

TEST_CASE("a node that did not fail by itself tells the others 0", "[other_nodes]") {
  AttemptRecord made_way;
  made_way.gave_way = true;
  CHECK(status_for_others(ended_well(), {}) == 0);
  CHECK(status_for_others(made_way, {}) == 0);
}

TEST_CASE("a node that failed never tells the others 0", "[other_nodes]") {
  AttemptRecord failed;
  failed.command = Exited{3};
  diagnose::Evidence evidence;
  evidence.command = Exited{3};
  CHECK(status_for_others(failed, evidence) == 3);
  CHECK(status_for_others(failed, {}) != 0);
  // Ranks that saved at a signal, and ended well, have not failed.
  AttemptRecord saved = ended_well();
  saved.signal = SIGTERM;
  diagnose::Evidence told;
  told.signal = SIGTERM;
  told.command = Exited{0};
  CHECK(status_for_others(saved, told) == 0);
}

TEST_CASE("an attempt that went well here, and failed elsewhere, has ended as it did there",
          "[other_nodes]") {
  for (const bool made_way : {false, true}) {
    AttemptRecord record = ended_well();
    record.gave_way = made_way;
    take_end_of({ended_at(1, 0), ended_at(2, 9)}, 1, record);
    CHECK(record.ended_elsewhere);
    CHECK_FALSE(record.gave_way);
    CHECK(record.command == ExitStatus(Exited{9}));
  }
}

TEST_CASE("an attempt that failed here has its own end, whatever others tell", "[other_nodes]") {
  AttemptRecord record;
  record.command = Exited{4};
  take_end_of({ended_at(1, 9)}, 1, record);
  CHECK_FALSE(record.ended_elsewhere);
  CHECK(record.command == ExitStatus(Exited{4}));
}

TEST_CASE("an attempt that went well on all nodes went well", "[other_nodes]") {
  AttemptRecord record = ended_well();
  take_end_of({ended_at(1, 0), node_at(2, "gpu-2")}, 1, record);
  CHECK(went_well(record));
}

TEST_CASE("ranks that failed elsewhere are known, but not those that were ended for their sake",
          "[other_nodes]") {
  AttemptRecord record = ended_well();
  OtherNode stopped = with_failed_rank(2, 8);
  stopped.news.phase = agree::NodePhase::stopped;
  take_end_of({with_failed_rank(1, 4), stopped, with_failed_rank(3, 12, 2)}, 1, record);
  REQUIRE(record.ranks.exits.size() == 1);  // that of rank 12 is of another attempt
  CHECK(record.ranks.exits.front().rank == Rank{4});
  CHECK(record.ranks.exits.front().process.node == 1);
}

TEST_CASE("the words of every node are evidence of one diagnosis, with their hosts",
          "[other_nodes]") {
  diagnose::Evidence theirs;
  theirs.output = {{"rank-4.err", Rank{4}, "NCCL WARN no socket\n"}};
  OtherNode node = ended_at(1, 1);
  node.news.end->diagnosis = nodes::to_text(theirs);
  diagnose::Evidence evidence;
  evidence.failure.ended = {{Rank{4}, {504, 9, 1}, Exited{1}}};
  CHECK(add_words_of({node, ended_at(2, 0)}, evidence).empty());
  REQUIRE(evidence.output.size() == 1);
  CHECK(evidence.output.front().source == "gpu-1/rank-4.err");
  CHECK(evidence.hosts == std::map<Rank, std::string>{{Rank{4}, "gpu-1"}});
}

TEST_CASE("a node whose words cannot be read is named, and the others are heard", "[other_nodes]") {
  OtherNode torn = ended_at(1, 1);
  torn.news.end->diagnosis = "[";
  diagnose::Evidence theirs;
  theirs.remarks = {"ranks wait"};
  OtherNode whole = ended_at(2, 1);
  whole.news.end->diagnosis = nodes::to_text(theirs);
  diagnose::Evidence evidence;
  const auto troubles = add_words_of({torn, whole}, evidence);
  CHECK(troubles ==
        std::vector<std::string>{"node 1 (gpu-1) sent an unreadable report of its attempt"});
  CHECK(evidence.remarks == std::vector<std::string>{"gpu-2: ranks wait"});
}

TEST_CASE("where all nodes have started their ranks and are heard, the ranks are to blame",
          "[other_nodes]") {
  CHECK_FALSE(end_of_nodes({ended_at(1, 1), node_at(2, "gpu-2")}, {}, true));
}

TEST_CASE("nodes that are lost end the job with 69 and their names", "[other_nodes]") {
  CHECK(end_of_nodes({}, {{1, "a"}}, false) ==
        EndOfNodes{69, "no word from node 1 (a) for too long; the job was stopped"});
}

TEST_CASE("a node that has not started its ranks ends the job with its own status",
          "[other_nodes]") {
  OtherNode idle = ended_at(1, 78);
  idle.news.end->trouble = "profile mine is not on this one";
  CHECK(
      end_of_nodes({ended_at(2, 1), idle}, {}, false) ==
      EndOfNodes{78, "node 1 (gpu-1) has not started its ranks: profile mine is not on this one"});
  // A node that is gone is told first: the other may have waited for it.
  CHECK(end_of_nodes({idle}, {{2, "b"}}, false)->exit_code == 69);
}
