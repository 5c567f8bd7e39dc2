#pragma once

#include <cstdint>
#include <span>

#include "safelaunch/base/event.h"
#include "safelaunch/base/process.h"

/// The answer of `safelaunch stacks`: the places at which the ranks of a job stand.
namespace safelaunch::stacks {

/// The source of the Python stack of a rank.
enum class Teller { nobody, hook, py_spy, safelaunch };

[[nodiscard]] const char* name(Teller teller);

/// The place of one rank.
struct RankPlace {
  std::optional<Rank> rank;  ///< none: a process of the job that says of no rank
  ProcessId process;
  std::string command;             ///< its first words
  std::string standing;            ///< "waits in group", as safelaunch knows; empty: not known
  std::string where;               ///< its place in the code: "train.py:40 main → all_reduce"
  std::string frames;              ///< the frames of all its Python threads, one a line
  Teller teller = Teller::nobody;  ///< the source of `where` and `frames`
  /// How many collectives it has finished, in all its groups; none: not known.
  std::optional<std::int64_t> collectives{};
  /// Its activity as the kernel tells it: "idling: sleeping in hrtimer_nanosleep".
  std::string doing;
};

/// A store, at which the ranks of a job meet.
struct StorePlace {
  std::string address;          ///< "127.0.0.1:29500"
  std::string holder;           ///< "pid 71 (python …)"; empty: nobody on this host listens there
  std::vector<Rank> connected;  ///< the ranks here that are connected to it
  std::vector<Rank> apart;      ///< the other ranks here
};

/// One process of the job's tree.
struct TreeProcess {
  int pid = 0;
  int depth = 0;     ///< how many processes of the job are above it
  char state = '?';  ///< as in ps
  int cpu = 0;       ///< per cent of one CPU that it used while it was looked at
  std::string command;
};

/// The places of all ranks of one job that run on this host.
struct JobPlaces {
  std::string title;  ///< "run 20261121-… (torchrun …)", "pid 71 (torchrun …)"
  int world = 0;      ///< the number of ranks in the job; 0: not known
  std::vector<RankPlace> ranks;
  std::vector<StorePlace> stores;
  std::vector<std::string> notes;  ///< the questions that have no answer, and why
  /// The processes from the launcher down, each before those below it; a rank that is not below the
  /// launcher stands for itself.
  std::vector<TreeProcess> tree{};
};

/// For a person: ranks that stand at the same place are one line. `whole` adds every frame.
[[nodiscard]] std::string render(const JobPlaces& job, bool whole);

/// For a person: the tree, a process a line; a rank's line tells its place.
[[nodiscard]] std::string render_tree(const JobPlaces& job);

[[nodiscard]] std::string places_json(std::span<const JobPlaces> jobs);

}  // namespace safelaunch::stacks
