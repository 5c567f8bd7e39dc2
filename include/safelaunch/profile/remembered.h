#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"

namespace safelaunch::profile {

/// A profile that worked is tried first again only where all of this is the same.
struct HostKey {
  std::string hostname;
  std::vector<std::string> gpus;
  std::string driver;
  std::string nccl;    ///< version of the libnccl that the command loads; empty: none, or not told
  std::string python;  ///< the command's interpreter: another one is another torch
  bool operator==(const HostKey&) const = default;
};

/// Dates that outlive us are wall-clock times.
using WallTime = std::chrono::sys_seconds;

/// A profile that got a job past its first collective.
struct Success {
  HostKey key;
  std::string profile;
  WallTime when;
  /// The job for which it counts, where the profile costs much speed: another script may well need
  /// no such profile. Empty: for all.
  std::string job = {};
  bool operator==(const Success&) const = default;
};

/// The profiles that worked here, the newest last. Plain values; the functions below change copies.
using Memory = std::vector<Success>;

/// A success counts for a week: drivers and images change.
inline constexpr std::chrono::days kMemoryLasts{7};

/// The success that came last for that key and job, within a week before `now`.
[[nodiscard]] std::optional<Success> recall(const Memory& memory, const HostKey& key,
                                            std::string_view job, WallTime now);
/// With one success more; successes that are older than a week, or of the same key and job, are
/// dropped.
[[nodiscard]] Memory remember(Memory memory, Success success);
/// Without what recall() would find for that key and job (--forget).
[[nodiscard]] Memory forget(Memory memory, const HostKey& key, std::string_view job);

/// The memory as text (JSON), and back; nullopt for what is no memory of ours.
[[nodiscard]] std::string format_memory(const Memory& memory);
[[nodiscard]] std::optional<Memory> parse_memory(std::string_view text);

/// $XDG_STATE_HOME/safelaunch/worked.json, else ~/.local/state/…; empty where there is no home.
[[nodiscard]] std::string memory_file(const Environment& environment);

/// The memory in a file; empty where there is none. A file that is damaged or not to be trusted is
/// moved aside (FILE.bad) and counts as empty: it holds nothing that a run would not learn again.
[[nodiscard]] Memory load_memory(const std::string& path);

/// Writes the memory so that whoever reads sees the old file or the new one, never a part. Makes
/// the folder (0700) and the file (0600). Two runs that save at once: the later one stays.
[[nodiscard]] Result<> save_memory(const std::string& path, const Memory& memory);

}  // namespace safelaunch::profile
