#include "safelaunch/ranks/rank_watch.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "catch.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/process_facts.h"

using namespace safelaunch;
using namespace safelaunch::ranks;

namespace {

constexpr int kNobody = 4'190'000;  // above the kernel's usual pids

/// The knowledge of ranks when NCCL's log names a process.
struct Known {
  std::map<ProcessId, Rank> hooked;
  std::map<ProcessId, Rank> plugged;
  watch::Stages stages{{}};

  [[nodiscard]] std::optional<RankStarted> rank_of(int pid,
                                                   std::optional<nccl::Part> part = {}) const {
    return ranks::rank_of({"node", pid}, part, {hooked, plugged, stages, "nccl.%h.%p"});
  }
};

/// A process that was started with these variables.
class StartedWith {
 public:
  explicit StartedWith(std::vector<std::string> variables) {
    int fds[2];
    REQUIRE(::pipe2(fds, O_CLOEXEC) == 0);
    const UniqueFd executed(fds[0]);
    UniqueFd writer(fds[1]);
    std::vector<char*> environment;
    for (std::string& one : variables) environment.push_back(one.data());
    environment.push_back(nullptr);
    pid = ::fork();
    if (pid == 0) {
      ::execle("/bin/sleep", "sleep", "600", nullptr, environment.data());
      ::_exit(127);
    }
    writer.reset();
    char byte = 0;
    REQUIRE(::read(executed.get(), &byte, 1) == 0);  // its program has begun
  }
  StartedWith(const StartedWith&) = delete;
  StartedWith& operator=(const StartedWith&) = delete;
  ~StartedWith() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  int pid = 0;
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

TEST_CASE("a process of the job is known by its own environment where nothing has spoken",
          "[nccl_rank]") {
  const Known known;
  const StartedWith worker({"NCCL_DEBUG_FILE=nccl.%h.%p", "RANK=5"});
  const auto found = known.rank_of(worker.pid);
  REQUIRE(found.has_value());
  CHECK(found->rank == Rank{5});
  CHECK(found->process.pid == worker.pid);
  CHECK(found->process.start_ticks > 0);
  CHECK(found->source == Source::nccl_log);
}

TEST_CASE("a process that writes another log, or has no rank, is not of this job", "[nccl_rank]") {
  const Known known;
  for (const std::vector<std::string>& variables :
       {std::vector<std::string>{"NCCL_DEBUG_FILE=other.log", "RANK=5"},
        {"RANK=5"},
        {"NCCL_DEBUG_FILE=nccl.%h.%p"},
        {"NCCL_DEBUG_FILE=nccl.%h.%p", "RANK=-1"},
        {"NCCL_DEBUG_FILE=nccl.%h.%p", "RANK=first"},
        {"NCCL_DEBUG_FILE=nccl.%h.%p", "RANK="}}) {
    const StartedWith stranger(variables);
    CHECK_FALSE(known.rank_of(stranger.pid).has_value());
  }
}

TEST_CASE("what a hook has said beats the environment, and both beat NCCL's own number",
          "[nccl_rank]") {
  Known known;
  const StartedWith worker({"NCCL_DEBUG_FILE=nccl.%h.%p", "RANK=5"});
  CHECK(known.rank_of(worker.pid, part_of(1, 8))->rank == Rank{5});
  known.hooked[host::facts_of(worker.pid)->id] = Rank{6};
  CHECK(known.rank_of(worker.pid, part_of(1, 8))->rank == Rank{6});
}

TEST_CASE("NCCL's own number counts where the world is not known yet, and brings it",
          "[nccl_rank]") {
  const Known known;
  const auto found = known.rank_of(kNobody, part_of(3, 8));
  REQUIRE(found.has_value());
  CHECK(found->rank == Rank{3});
  CHECK(found->world_size == 8);
  CHECK(found->process == ProcessId{kNobody, 0});
}
