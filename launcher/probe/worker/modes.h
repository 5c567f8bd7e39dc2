#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace safelaunch::probe {

/// One object on a line of stdout. Names out of a sick driver may be no UTF-8.
inline void print_json(const nlohmann::ordered_json& object) {
  using Json = nlohmann::ordered_json;
  std::puts(object.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

/// `safelaunch-probe driver`: the driver's CUDA version and the GPUs that it shows.
int show_driver();

/// `safelaunch-probe nccl FILE`: the version of a libnccl, and whether it can make a unique id, for
/// which it opens a socket on the interface of its choice. Needs no driver.
int show_nccl(const std::string& file);

/// The orders for `safelaunch-probe rank`.
struct RankOrder {
  int rank = 0;
  int ranks = 1;
  int device = 0;
  std::string nccl;         ///< the job's libnccl
  bool beside_job = false;  ///< a job is about to use the same GPU: decline where that would hurt
};

/// `safelaunch-probe rank RANK RANKS DEVICE FILE [beside-job]`: one rank of a probe. A line for
/// each phase on stdout, orders on stdin (Orders).
[[noreturn]] void probe_as_rank(const RankOrder& order);

}  // namespace safelaunch::probe
