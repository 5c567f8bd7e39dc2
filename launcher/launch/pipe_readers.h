#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "safelaunch/base/time.h"

namespace safelaunch::launch {

/// Processes of the job whose stdin is a pipe: what its shell script has put behind its own output
/// (`exec > >(tee log)`), or what waits for the last bytes of another (ffmpeg, `aws s3 cp -`). When
/// the writers are gone such a process ends by itself.
class PipeReaders {
 public:
  /// Looks at everything below us, and returns the readers that are still at it: their pipe holds
  /// bytes, or in the last second one of those that share it has worked.
  [[nodiscard]] std::set<int> at_work(TimePoint now);

 private:
  struct Pipe {
    std::uint64_t work = 0;  ///< CPU time and bytes of all its readers, at the last look
    TimePoint moved{};
  };
  std::map<std::uint64_t, Pipe> pipes_;  ///< by inode
};

}  // namespace safelaunch::launch
