#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "safelaunch/base/time.h"

namespace safelaunch::launch {

/// Processes of the job whose stdin is a pipe: what its shell script has put behind its own output
/// (`exec > >(tee log)`), or what waits for the last bytes of another (ffmpeg, `aws s3 cp -`). When
/// the writers are gone such a process ends by itself. So does Python's resource tracker, once it
/// has removed what the others have left in /dev/shm.
class PipeReaders {
 public:
  /// Looks at everything below us.
  void look(TimePoint now);

  /// Whether the process is a reader that is still at it: its pipe holds bytes, in the last second
  /// one of those that share it has worked, or it has begun since the look.
  [[nodiscard]] bool is_at_work(int pid) const;

 private:
  struct Pipe {
    std::uint64_t work = 0;  ///< CPU time and bytes of all its readers, at the last look
    TimePoint moved{};
  };
  std::map<std::uint64_t, Pipe> pipes_;  ///< by inode
  std::set<int> seen_;                   ///< by the last look
  std::set<int> at_work_;
};

}  // namespace safelaunch::launch
