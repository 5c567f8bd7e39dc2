#pragma once

#include <map>

#include "safelaunch/base/event.h"
#include "safelaunch/host/process_facts.h"

/// The ranks among processes that safelaunch did not start.
namespace safelaunch::stacks {

/// The rank of a process, as its environment says.
struct SaidRank {
  int rank = 0;
  int world = 0;       ///< 0: it does not say
  std::string master;  ///< "HOST:PORT"; empty: it does not say
  bool operator==(const SaidRank&) const = default;
};

/// torchrun's, MPI's and Slurm's variables, whichever come first. Slurm gives its variables to
/// every shell of an allocation, so they count only `below_a_launcher`.
[[nodiscard]] std::optional<SaidRank> said_rank(std::string_view raw_environment,
                                                bool below_a_launcher);

struct SeenProcess {
  host::ProcessFacts facts;
  bool python = false;
  std::optional<SaidRank> said{};
};

struct FoundRank {
  std::optional<SaidRank> said;
  ProcessId process;
  bool operator==(const FoundRank&) const = default;
};

/// The processes that are ranks. The children of a rank (loaders, compilers) inherit its
/// environment, and so do those of the wrapper (`sh run.sh`) in which it may stand. So of each line
/// of processes with one rank the topmost Python is taken, or else the topmost process. A process
/// with ranks of other numbers below it is a launcher.
[[nodiscard]] std::vector<FoundRank> ranks_among(const std::vector<SeenProcess>& processes);

/// The place at which the process meets others; empty where it is none of these ranks, or says
/// none.
[[nodiscard]] std::string meeting_of(ProcessId process, const std::vector<FoundRank>& ranks);

/// The ranks by the place at which they meet, "" for those that say none.
[[nodiscard]] std::map<std::string, std::vector<FoundRank>> by_master(
    const std::vector<FoundRank>& ranks);

/// Those of a job that says nothing of ranks: its Pythons, or else all of its processes.
[[nodiscard]] std::vector<FoundRank> nameless_among(const std::vector<SeenProcess>& processes);

}  // namespace safelaunch::stacks
