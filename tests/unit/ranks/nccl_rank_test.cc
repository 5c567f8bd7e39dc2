#include "safelaunch/ranks/rank_watch.h"

#include "catch.h"
#include "safelaunch/host/process_facts.h"

using namespace safelaunch;
using namespace safelaunch::ranks;

namespace {

constexpr int kNobody = 4'190'000;  // above the kernel's usual pids

/// What is known when NCCL's log names a process.
struct Known {
  std::map<ProcessId, Rank> hooked;
  std::map<ProcessId, Rank> plugged;
  watch::Stages stages{{}};

  [[nodiscard]] std::optional<RankStarted> rank_of(int pid,
                                                   std::optional<nccl::Part> part = {}) const {
    return ranks::rank_of({"node", pid}, part, {hooked, plugged, stages, "nccl.%h.%p"});
  }
};

nccl::Part part_of(int rank, int ranks) {
  nccl::Part part{};
  part.rank = rank;
  part.ranks = ranks;
  return part;
}

}  // namespace

TEST_CASE("a process is the rank that its hook says, before what its plugin says", "[nccl_rank]") {
  Known known;
  const ProcessId us = host::self();
  known.plugged[us] = Rank{4};
  CHECK(known.rank_of(us.pid)->rank == Rank{4});
  known.hooked[us] = Rank{3};
  CHECK(known.rank_of(us.pid)->rank == Rank{3});
}

TEST_CASE("a process that we spawned needs no hook", "[nccl_rank]") {
  Known known;
  const ProcessId us = host::self();
  (void)known.stages.on(RankStarted{Rank{2}, us, 4, Source::launch}, {});
  CHECK(known.rank_of(us.pid)->rank == Rank{2});
}

TEST_CASE("a stranger's pid says nothing, and a part of the job is not the job", "[nccl_rank]") {
  Known known;
  CHECK_FALSE(known.rank_of(kNobody).has_value());
  (void)known.stages.on(RankStarted{Rank{0}, host::self(), 4, Source::launch}, {});
  CHECK_FALSE(known.rank_of(kNobody, part_of(1, 2)).has_value());
  CHECK(known.rank_of(kNobody, part_of(1, 4))->rank == Rank{1});
}

TEST_CASE("a rank that is known keeps its process, whatever pid its container shows",
          "[nccl_rank]") {
  Known known;
  (void)known.stages.on(RankStarted{Rank{0}, host::self(), 2, Source::launch}, {});
  CHECK(known.rank_of(kNobody, part_of(0, 2))->process == host::self());
}
