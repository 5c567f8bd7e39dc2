#include "launcher/stacks/found_ranks.h"

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
