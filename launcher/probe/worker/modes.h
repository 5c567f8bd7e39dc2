#pragma once

#include <cstdint>
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

/// The whole number that a rank gives to the first all_reduce, never 0: so a rank that is left out
/// or counted twice changes the sum. The numbers stay small, since a float is exact up to 2^24
/// only, and then in any order.
[[nodiscard]] constexpr int share_of(int rank) {
  return rank % 64 + 1;
}

[[nodiscard]] constexpr std::int64_t sum_of_shares(int ranks) {
  const std::int64_t whole = ranks / 64;
  const std::int64_t rest = ranks % 64;
  return whole * (64 * 65 / 2) + rest * (rest + 1) / 2;
}

/// `safelaunch-probe rank RANK RANKS DEVICE FILE [beside-job]`: one rank of a probe. A line for
/// each phase on stdout, orders on stdin (Orders).
[[noreturn]] void probe_as_rank(const RankOrder& order);

}  // namespace safelaunch::probe
