#include "launcher/stacks/found_ranks.h"

#include <algorithm>

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::stacks;
using namespace std::string_view_literals;

namespace {

SeenProcess process(int pid, int parent, bool python, std::optional<int> rank = std::nullopt) {
  SeenProcess seen;
  seen.facts.id = {pid, 7};
  seen.facts.parent = parent;
  seen.python = python;
  if (rank) seen.said = SaidRank{*rank, 2, "h:1"};
  return seen;
}

std::vector<int> pids_of(const std::vector<FoundRank>& ranks) {
  std::vector<int> pids;
  for (const FoundRank& rank : ranks) pids.push_back(rank.process.pid);
  return pids;
}

}  // namespace

TEST_CASE("a rank is what its environment says, by torchrun, MPI or JAX", "[found_ranks]") {
  CHECK(said_rank("RANK=1\0WORLD_SIZE=4\0MASTER_ADDR=h\0MASTER_PORT=29500\0"sv, true) ==
        SaidRank{1, 4, "h:29500"});
  CHECK(said_rank("OMPI_COMM_WORLD_RANK=2\0OMPI_COMM_WORLD_SIZE=3\0"sv, true) ==
        SaidRank{2, 3, ""});
  CHECK(said_rank("JAX_PROCESS_ID=0\0"sv, true) == SaidRank{0, 0, ""});
  CHECK_FALSE(said_rank("RANK=x\0"sv, true));
  CHECK_FALSE(said_rank("RANK=-1\0"sv, true));
  CHECK_FALSE(said_rank("HOME=/root\0"sv, true));
}

TEST_CASE("every shell of a Slurm allocation has its number, and is no rank for that",
          "[found_ranks]") {
  CHECK(said_rank("SLURM_PROCID=0\0SLURM_NTASKS=2\0"sv, true) == SaidRank{0, 2, ""});
  CHECK_FALSE(said_rank("SLURM_PROCID=0\0SLURM_NTASKS=2\0"sv, false));
}

TEST_CASE("what a rank has started is no rank of its own", "[found_ranks]") {
  const auto found =
      ranks_among({process(10, 1, true), process(11, 10, true, 0), process(12, 10, true, 1),
                   process(13, 11, true, 0), process(14, 12, false, 1)});
  CHECK(pids_of(found) == std::vector{11, 12});
}

TEST_CASE("a wrapper yields to the Python that it has started", "[found_ranks]") {
  const auto found = ranks_among({process(10, 1, false, 0), process(11, 10, false, 0),
                                  process(12, 11, true, 0), process(13, 12, true, 0)});
  CHECK(pids_of(found) == std::vector{12});
}

TEST_CASE("a rank that is no Python is the topmost of its line", "[found_ranks]") {
  CHECK(pids_of(ranks_among({process(10, 1, false, 0), process(11, 10, false, 0)})) ==
        std::vector{10});
}

TEST_CASE("a launcher in a shell with RANK is no rank", "[found_ranks]") {
  const auto found = ranks_among({process(9, 1, false, 0), process(10, 9, true, 0),
                                  process(11, 10, true, 0), process(12, 10, true, 1)});
  CHECK(pids_of(found) == std::vector{11, 12});
}

TEST_CASE("of a job without ranks its Pythons are shown, or else all of it", "[found_ranks]") {
  CHECK(pids_of(nameless_among({process(10, 1, false), process(11, 10, true)})) == std::vector{11});
  CHECK(pids_of(nameless_among({process(10, 1, false), process(11, 10, false)})) ==
        std::vector{10, 11});
}

TEST_CASE("the first launcher whose variable names a rank is believed", "[found_ranks]") {
  CHECK(said_rank("OMPI_COMM_WORLD_RANK=2\0RANK=1\0"sv, true)->rank == 1);
  CHECK(said_rank("RANK=x\0OMPI_COMM_WORLD_RANK=2\0"sv, true)->rank == 2);
  CHECK(said_rank("PMI_RANK=3\0PMI_SIZE=4\0"sv, false) == SaidRank{3, 4, ""});
  CHECK(said_rank("JAX_PROCESS_ID=1\0JAX_NUM_PROCESSES=2\0"sv, true) == SaidRank{1, 2, ""});
  CHECK(said_rank("SLURM_PROCID=7\0JAX_PROCESS_ID=1\0"sv, true)->rank == 1);
}

TEST_CASE("a number of ranks that cannot be is not said", "[found_ranks]") {
  const auto world = [](const std::string& value) {
    return said_rank(std::string("RANK=0") + '\0' + "WORLD_SIZE=" + value + '\0', true)->world;
  };
  CHECK(world("1000000") == 1'000'000);
  for (const char* value : {"1000001", "2147483647", "2147483648", "-4", "many", "", "4 "})
    CHECK(world(value) == 0);
}

TEST_CASE("a place to meet needs host and port", "[found_ranks]") {
  CHECK(said_rank("RANK=0\0MASTER_ADDR=h\0"sv, true)->master.empty());
  CHECK(said_rank("RANK=0\0MASTER_PORT=1\0"sv, true)->master.empty());
}

TEST_CASE("only a whole name is a variable", "[found_ranks]") {
  CHECK_FALSE(said_rank("LOCAL_RANK=1\0XRANK=2\0RANKS=3\0RANK\0"sv, true));
  CHECK_FALSE(said_rank("", true));
}

TEST_CASE("ranks are found in whatever order their processes are listed", "[found_ranks]") {
  std::vector<SeenProcess> all{process(10, 1, false, 0), process(11, 10, true, 0),
                               process(12, 11, true, 0), process(13, 1, false, 1),
                               process(14, 13, true, 1)};
  const auto by_pid = [](const SeenProcess& a, const SeenProcess& b) {
    return a.facts.id.pid < b.facts.id.pid;
  };
  do {
    const auto pids = pids_of(ranks_among(all));
    if (pids != std::vector{11, 14}) CHECK(pids == std::vector{11, 14});
  } while (std::next_permutation(all.begin(), all.end(), by_pid));
  CHECK(pids_of(ranks_among(all)) == std::vector{11, 14});
}

TEST_CASE("a wrapper over two Pythons of one rank is none of them", "[found_ranks]") {
  CHECK(pids_of(ranks_among({process(10, 1, false, 0), process(11, 10, true, 0),
                             process(12, 10, true, 0)})) == std::vector{11, 12});
}

TEST_CASE("ranks come in the order of their numbers, equal ones as they were listed",
          "[found_ranks]") {
  CHECK(pids_of(ranks_among({process(10, 1, true, 2), process(11, 1, true, 0),
                             process(12, 1, true, 2), process(13, 1, true, 1)})) ==
        std::vector{11, 13, 10, 12});
}

TEST_CASE("a rank of another job in between does not make two of one", "[found_ranks]") {
  SeenProcess other = process(11, 10, true, 0);
  other.said->master = "h:2";
  // Both jobs have a rank 0, so neither process launches the other.
  CHECK(pids_of(ranks_among({process(10, 1, true, 0), other})) == std::vector{10, 11});
}

TEST_CASE("parents that name each other are no way without end", "[found_ranks]") {
  CHECK(pids_of(ranks_among({process(10, 11, true, 0), process(11, 10, false, 0)})) ==
        std::vector{10});
  CHECK(pids_of(ranks_among({process(10, 10, true, 0)})) == std::vector{10});
}

TEST_CASE("nothing that runs has no rank", "[found_ranks]") {
  CHECK(ranks_among({}).empty());
  CHECK(ranks_among({process(10, 1, true)}).empty());
  CHECK(nameless_among({}).empty());
}

TEST_CASE("of thousands of processes without a rank a few are shown", "[found_ranks]") {
  std::vector<SeenProcess> many;
  for (int pid = 1; pid <= 5'000; ++pid) many.push_back(process(pid, 1, false));
  CHECK(nameless_among(many).size() == 64);
  many.back().python = true;
  CHECK(pids_of(nameless_among(many)) == std::vector{5'000});
}

TEST_CASE("the place where a process meets others is that of its own rank", "[found_ranks]") {
  const auto ranks = ranks_among({process(10, 1, true, 0), process(11, 1, true, 1)});
  CHECK(meeting_of({11, 7}, ranks) == "h:1");
  CHECK(meeting_of({11, 8}, ranks).empty());  // another process has that pid by now
  CHECK(meeting_of({12, 7}, ranks).empty());
  CHECK(meeting_of({11, 7}, nameless_among({process(11, 1, true)})).empty());
}

TEST_CASE("ranks are of one job where they meet at one place", "[found_ranks]") {
  std::vector<SeenProcess> all{process(10, 1, true, 0), process(11, 1, true, 1),
                               process(12, 1, true, 0), process(13, 1, true, 2)};
  all[2].said->master = "h:2";
  all[3].said->master.clear();
  std::map<std::string, std::vector<int>> pids;
  for (const auto& [master, ranks] : by_master(ranks_among(all))) pids[master] = pids_of(ranks);
  CHECK(pids ==
        std::map<std::string, std::vector<int>>{{"", {13}}, {"h:1", {10, 11}}, {"h:2", {12}}});
}
