#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/run/nccl_watch.h"
#include "safelaunch/run/rank_questions.h"

namespace safelaunch::run {

/// What an attempt's record takes from the watch.
struct RanksSeen {
  int world_size = 0;                    ///< of the job; 0: no rank was seen
  std::vector<RankExited> exits;         ///< of ranks, in order, until the attempt was stopped
  std::vector<RankExited> late_exits;    ///< of ranks, in order, while it was being stopped
  std::vector<RankRaised> raised;        ///< in order
  RankAnswers answers;                   ///< to what they were asked after the verdict
  std::map<Rank, std::string> stores;    ///< "host:port" of the store that a rank was given last
  std::map<Rank, std::string> knocking;  ///< "host:port" of the store that a rank cannot get into
  std::set<std::string> backends;        ///< as the ranks gave them to init_process_group
  std::set<Rank> finished;               ///< whose Python has come to its end without an exception
  NcclRecord nccl;
};

}  // namespace safelaunch::run
