#pragma once

#include <functional>
#include <memory>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/time.h"
#include "safelaunch/gpu/facts.h"
#include "safelaunch/launch/helper.h"
#include "safelaunch/launch/reaper.h"

/// Asks the driver for the facts of its GPUs, in a process of its own and with a deadline. So an
/// answer comes whatever the driver does, and a driver that does not answer is a fact as well.
namespace safelaunch::gpu {

/// A healthy driver answers within half a second for eight GPUs, and within two without persistence
/// mode.
inline constexpr Duration kGpuDeadline{3'000};

struct Query {
  /// The job's environment, because its LD_LIBRARY_PATH decides which NVML is asked.
  Environment environment;
  Duration deadline = kGpuDeadline;
};

/// Answers once through the io_context, also where there is no driver. Keep the Reading until then:
/// destroying it ends the question without an answer.
using OnGpuFacts = std::function<void(const Facts& facts)>;
class Reading {
 public:
  Reading(boost::asio::io_context& io, launch::Reaper& reaper, const Query& query,
          OnGpuFacts on_facts);
  Reading(Reading&&) noexcept;
  Reading& operator=(Reading&&) noexcept;
  ~Reading();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Reads the same facts for verbs. Blocks, at most for the deadline and a second.
[[nodiscard]] Facts read_gpu_facts(const Query& query);

}  // namespace safelaunch::gpu
