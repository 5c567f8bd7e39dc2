#pragma once

#include <filesystem>
#include <functional>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/time.h"
#include "safelaunch/gpu/memory.h"
#include "safelaunch/gpu/reader.h"
#include "safelaunch/host/left_files.h"

namespace safelaunch::run {

/// The segments in /dev/shm that an attempt has made. Its processes have them mapped now, and each
/// bears a name that NCCL, torch, DeepSpeed or Python give, is our user's and no older than the
/// attempt. To be asked before the processes are ended: a killed rank leaves its segments behind,
/// 34 MB a rank with NCCL, and the next attempt finds less room. No process is looked into where
/// there is no such segment, none once all are found, and none after `limit`.
[[nodiscard]] std::vector<host::LeftFile> segments_of_descendants(Duration age_of_attempt,
                                                                  Duration limit);

/// Adds the segments to the record in a run directory: those that are left later are then known to
/// be the run's (host/left_files.h). `mark` is that of the run's processes.
void record_segments_in(const std::filesystem::path& run_directory,
                        const std::vector<host::LeftFile>& segments, std::string_view mark);

/// Of those that one job alone uses, removes what is still there and what nobody at all has open.
/// Returns what it removed.
/// To be called when all processes of the attempt have gone.
std::vector<host::LeftFile> remove_left_segments(const std::vector<host::LeftFile>& segments);

/// The memory of the host's GPUs over a run: how much was in use before it, and the wait for that
/// state between two attempts, since the driver takes memory back after the processes are gone.
/// Where there is no GPU, nothing is asked and nothing waited for.
class GpuMemory {
 public:
  /// Asks at once what is in use, in a process of its own.
  GpuMemory(boost::asio::io_context& io, launch::Reaper& reaper, const Environment& environment);

  /// How many GPUs NVML lists for programs of the environment; nullopt: it has not answered so far,
  /// or there is none.
  [[nodiscard]] std::optional<int> usable() const;

  /// Calls once, through the io_context. Only the GPUs that the job may see are waited for.
  void when_back(gpu::DrainWait::OnDrained then);

 private:
  boost::asio::io_context& io_;
  launch::Reaper& reaper_;
  gpu::Query query_;
  std::optional<gpu::Facts> before_;  ///< none until the driver has answered
  gpu::Reading reading_;
  std::optional<gpu::DrainWait> wait_;
};

}  // namespace safelaunch::run
