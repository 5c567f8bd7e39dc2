#pragma once

#include <functional>
#include <memory>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/time.h"
#include "safelaunch/gpu/facts.h"
#include "safelaunch/launch/helper.h"
#include "safelaunch/launch/reaper.h"

/// Asks the driver for the facts of GPUs, in a process of its own and with a deadline: whatever the
/// driver does, an answer comes, and a driver that does not answer is a fact as well.
namespace safelaunch::gpu {

/// A healthy driver answers in half a second for eight GPUs, without persistence mode in two.
inline constexpr Duration kGpuDeadline{3'000};

struct Query {
  /// The job's: its LD_LIBRARY_PATH decides which NVML is asked.
  Environment environment;
  Duration deadline = kGpuDeadline;
};

/// Answers once through the io_context, also where there is no driver. Keep what is returned until
/// then: destroying it ends the question without an answer.
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

/// The same for verbs: blocks, at most for the deadline and a second.
[[nodiscard]] Facts read_gpu_facts(const Query& query);

}  // namespace safelaunch::gpu
