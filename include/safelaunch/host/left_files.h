#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/time.h"

/// Files that a job makes for the time of its life, and that a killed one leaves behind: segments
/// in /dev/shm, and the locks of extensions that torch builds.
namespace safelaunch::host {

/// A file as it was when we looked at it. Device and inode distinguish it from a later file of its
/// name.
struct LeftFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  unsigned uid = 0;
  std::int64_t written = 0;  ///< the time of the last write, in seconds since 1970
  /// In nanoseconds since 1970; where the file system does not keep that, when it was last changed.
  std::int64_t made = 0;
  Duration age{};  ///< the time since `made`
  bool operator==(const LeftFile&) const = default;
};

/// A file system in memory and what is in it.
struct SharedMemory {
  std::string path;
  std::uint64_t bytes = 0;      ///< its size
  std::uint64_t available = 0;  ///< the bytes that we may still take
  std::vector<LeftFile> files;
  bool operator==(const SharedMemory&) const = default;
};

/// The plain file at a path; nullopt for everything else, a link to one included.
[[nodiscard]] std::optional<LeftFile> file_at(const std::string& path);

/// /dev/shm, or the folder that a test made. `files` are the plain files at its top.
[[nodiscard]] SharedMemory read_shared_memory(const std::string& path = "/dev/shm");

/// The maker of segments with such a name.
enum class SegmentMaker {
  unknown,
  one_job,  ///< NCCL, torch, DeepSpeed: the processes of one job make and open it
  /// Multiprocessing's shared memory and semaphores: every process that knows the name may open it.
  python,
  server,  ///< vLLM, SGLang: the names have no fixed form, so a user's own file may look the same
};

/// Judges by the whole name, not by its beginning: people keep files of their own in /dev/shm.
[[nodiscard]] SegmentMaker maker_of(std::string_view path);

/// The segments in /dev/shm whose name has a known maker. They are some thousands at most:
/// everybody may write to that folder, and others may have made a million.
[[nodiscard]] std::vector<LeftFile> named_segments();

/// Those segments that a process has mapped now, and that still have their name.
[[nodiscard]] std::vector<LeftFile> mapped_segments(int pid);

/// The folder in which torch builds extensions: TORCH_EXTENSIONS_DIR, else one below XDG_CACHE_HOME
/// or HOME; empty where none of them is set.
[[nodiscard]] std::string extensions_folder(const Environment& environment);

/// The files named "lock" of the extensions below it. A build holds its lock as long as it runs.
[[nodiscard]] std::vector<LeftFile> extension_locks(const std::string& folder);

}  // namespace safelaunch::host
