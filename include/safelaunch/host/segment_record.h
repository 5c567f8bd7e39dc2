#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/host/identity.h"
#include "safelaunch/host/left_files.h"
#include "safelaunch/host/process_facts.h"

/// The proof that a segment in /dev/shm is a run's: the run has written down which ones its
/// processes had mapped and had made. A name and a user prove nothing, since containers share
/// /dev/shm and are all root.
namespace safelaunch::host {

/// The file in a run directory that holds them, one a line.
inline constexpr const char* kSegmentRecordFile = "segments";

/// A segment that a run's processes had mapped while they ran.
struct SegmentRecord {
  std::string path;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t made = 0;      ///< LeftFile's
  std::string run;            ///< the run's id
  Life owner = Life::hidden;  ///< of the run's safelaunch; hidden too where it is of another
                              ///< container
};

/// Whether the record is of this very file, and not of one that bears its name.
[[nodiscard]] bool is_of(const SegmentRecord& record, const LeftFile& file);

/// The lines for such segments; `mark` is the run's (host/owner_mark.h).
[[nodiscard]] std::string segment_lines(std::span<const LeftFile> segments, std::string_view mark);

/// The same read again. Lines of another boot are left out, and those that are not whole.
[[nodiscard]] std::vector<SegmentRecord> parse_segment_lines(std::string_view text,
                                                             const std::string& run,
                                                             const HostIdentity& host);

/// The records of all runs that are kept in these places. Reads only what is our user's.
[[nodiscard]] std::vector<SegmentRecord> read_segment_records(
    std::span<const std::filesystem::path> places, const HostIdentity& host);

}  // namespace safelaunch::host
