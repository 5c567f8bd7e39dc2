#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nccl/bootstrap.h"
#include "nccl/collective.h"

namespace safelaunch::testing {

/// The collectives that RAS counts.
inline constexpr std::array kRasCounted = {
    Operation::Kind::broadcast, Operation::Kind::reduce, Operation::Kind::all_gather,
    Operation::Kind::reduce_scatter, Operation::Kind::all_reduce};
using RasCounts = std::array<std::int64_t, kRasCounted.size()>;

/// One rank's part of a communicator, as long as NCCL's RAS (2.24 on) knows it. The first one in a
/// process opens the service at NCCL_RAS_ADDR, which tells of all ranks: it asks their processes.
class RasMember {
 public:
  /// None where this NCCL has no RAS, or NCCL_RAS_ENABLE=0.
  [[nodiscard]] static std::shared_ptr<RasMember> join(std::uint64_t comm, const Peer& self,
                                                       const std::vector<Peer>& peers);

  RasMember(std::uint64_t id, const Peer& own, const std::vector<Peer>& all)
      : comm(id), self(own), peers(all) {}

  void launched(const Operation& operation);
  [[nodiscard]] RasCounts counts() const;

  const std::uint64_t comm;
  const Peer self;
  const std::vector<Peer> peers;

 private:
  std::array<std::atomic<std::int64_t>, kRasCounted.size()> launched_{};
};

/// Where this process answers the questions of other processes' RAS, on this interface.
[[nodiscard]] Address ras_door(const Address& interface);

/// How a rank's process answered.
struct RasAnswer {
  enum class Kind { counts, silence, dead } kind;
  RasCounts counts{};
};

/// NCCL's words about one communicator: `answers` by rank.
[[nodiscard]] std::string ras_text(const RasMember& member, const std::vector<RasAnswer>& answers);

}  // namespace safelaunch::testing
