#pragma once

#include <functional>
#include <memory>
#include <span>

#include "safelaunch/base/time.h"
#include "safelaunch/gpu/facts.h"
#include "safelaunch/gpu/reader.h"

/// Waits until the GPUs are as they were before an attempt that has ended. The driver takes memory
/// back only after the processes are gone, so a relaunch that comes too early runs out of it; and a
/// kernel that hangs in a copy between GPUs may go on without its process, until the GPU is reset.
namespace safelaunch::gpu {

// Tells which processes hold the memory of GPUs. In a container NVML may name pids of the host, or
// no process at all while memory is in use.

/// The processes on a GPU that are not among `own`.
[[nodiscard]] std::vector<Process> others_on(const Gpu& gpu, std::span<const int> own);

struct HeldMemory {
  int mib = 0;
  std::string holders;  ///< "pid 71 (40960 MiB) and pid 72 (512 MiB)", "processes not listed here"
};

/// The memory that is in use and does not belong to the processes in `own`.
[[nodiscard]] HeldMemory held_by_others(const Gpu& gpu, std::span<const int> own);

/// The memory that one process holds of one GPU.
struct MemoryHolding {
  int pid = 0;
  std::string what;  ///< "40960 MiB of GPU 0"
  bool operator==(const MemoryHolding&) const = default;
};

/// Lists every holding that NVML tells, GPU after GPU.
[[nodiscard]] std::vector<MemoryHolding> memory_holdings(const Facts& facts);

/// Lists memory in use that no listed process accounts for, from 512 MiB on: "3000 MiB of GPU 1".
[[nodiscard]] std::vector<std::string> memory_without_holder(const Facts& facts);

/// Tells whether a GPU computes although no process is on it and nobody holds memory of it. NVML's
/// share of time is that of the last second, so it may be true for a moment after a process ended.
[[nodiscard]] bool computes_for_nobody(const Gpu& gpu);

/// No driver was seen to take longer, and a process that holds on longer does not end by itself.
inline constexpr Duration kDrainBound{30'000};
/// A GPU whose memory is back and that computes for so long has no process to end it.
inline constexpr Duration kIdleBound{10'000};

struct Drain {
  enum class State {
    drained,   ///< no more is in use than before the attempt
    waiting,   ///< more is in use; ask again in a moment
    given_up,  ///< the bound is reached, or the driver does not answer
    stuck,     ///< the bound is reached, and a GPU computes for nobody: whatever starts there hangs
  };
  State state = State::drained;
  std::string why;  ///< "40960 MiB of GPU 0 are still in use by pid 71"; empty where drained
  bool operator==(const Drain&) const = default;
};

/// Compares the GPUs with their state before the attempt. The memory of processes that were there
/// before does not count, because no attempt of ours has left them, nor does a GPU that computed
/// for nobody before.
[[nodiscard]] Drain judge_drain(const Facts& before, const Facts& now, Duration waited,
                                Duration bound = kDrainBound);

/// Asks again and again until the GPUs are back or the bound is reached, then tells the result
/// once through the io_context. Destroying it ends the waiting without a word. Where `before` has
/// no GPUs the result is `drained` at once, and no driver is asked.
class DrainWait {
 public:
  using OnDrained = std::function<void(const Drain& drain)>;
  DrainWait(boost::asio::io_context& io, launch::Reaper& reaper, Query query, Facts before,
            OnDrained on_drained, Duration bound = kDrainBound);
  DrainWait(DrainWait&&) noexcept;
  DrainWait& operator=(DrainWait&&) noexcept;
  ~DrainWait();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace safelaunch::gpu
