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

/// The proof that a segment in /dev/shm belongs to a run: the run has written down the segments
/// that its processes had made and mapped. A name and a user prove nothing, since containers share
/// /dev/shm and are all root.
namespace safelaunch::host {

/// The file in a run directory that holds the segments, one a line.
inline constexpr const char* kSegmentRecordFile = "segments";

/// A segment that a run's processes had mapped while they ran.
struct SegmentRecord {
  std::string path;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t made = 0;  ///< LeftFile::made
  std::string run;        ///< the run's id
  /// The life of the run's safelaunch; hidden, too, where that is in another container.
  Life owner = Life::hidden;
};

/// Whether the record is about this very file, and not about another one of its name.
[[nodiscard]] bool is_of(const SegmentRecord& record, const LeftFile& file);

/// The lines for such segments; `mark` is the mark of the run (host/owner_mark.h).
[[nodiscard]] std::string segment_lines(std::span<const LeftFile> segments, std::string_view mark);

/// Reads the lines again. Lines of another boot and torn lines are left out.
[[nodiscard]] std::vector<SegmentRecord> parse_segment_lines(std::string_view text,
                                                             const std::string& run,
                                                             const HostIdentity& host);

/// The records of all runs that are kept in these places. Reads our user's files only.
[[nodiscard]] std::vector<SegmentRecord> read_segment_records(
    std::span<const std::filesystem::path> places, const HostIdentity& host);

}  // namespace safelaunch::host
