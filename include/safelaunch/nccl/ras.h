#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/nccl/version.h"

/// NCCL's RAS (2.24 on): a text service in every process of a job, which knows the others.
namespace safelaunch::nccl {

/// Whether asking is worth its risk. A query has crashed jobs of 2.26 and 2.27 at any time, and of
/// 2.29 while a communicator was made; ask only once all of them are complete.
[[nodiscard]] bool may_ask_ras(const Version& version);

/// What is sent, all at once: the answers come in the same order, and then the end of the stream.
inline constexpr std::string_view kRasQuestion = "CLIENT PROTOCOL 2\nTIMEOUT 3\nVERBOSE STATUS\n";

/// A process of which RAS knows no more than that it belongs to the job.
struct RasProcess {
  int pid = 0;
  std::string node;  ///< its address
  std::string gpus;  ///< "5", "0,1"
};

/// Ranks of one communicator that have come to different collectives of one kind.
struct RasDivergence {
  std::string operation;  ///< "AllReduce"
  struct Group {
    std::int64_t launched = 0;  ///< how many; 0: none yet
    int ranks = 0;              ///< that have launched so many
    std::vector<Rank> named;    ///< of them those that RAS names: the odd ones out
  };
  std::vector<Group> groups;
};

/// What an answer says beyond that all is well.
struct RasReport {
  std::vector<RasProcess> missing;  ///< that did not answer RAS in time: stopped, or too busy
  std::vector<RasProcess> dead;     ///< that RAS has not reached for a minute
  std::vector<Rank> missing_ranks;  ///< of communicators
  std::vector<RasDivergence> diverging;
  bool whole = false;  ///< the answer came to its end
};

/// Reads an answer in text. What does not look like RAS's words says nothing; lists are bounded.
[[nodiscard]] RasReport parse_ras(std::string_view answer);

/// "rank 1 has launched 2 of 5 AllReduce; process 71 on 192.0.2.2 (GPU 5) is dead"; empty where
/// nothing is amiss.
[[nodiscard]] std::string describe(const RasReport& report);

}  // namespace safelaunch::nccl
