#include "safelaunch/run/left_segments.h"

#include <unistd.h>

#include <algorithm>

#include "safelaunch/clean/stale_file.h"
#include "safelaunch/launch/process_tree.h"

namespace safelaunch {
namespace {

// Dates of files count whole seconds.
constexpr Duration kSecond{1'000};

bool known(const std::vector<LeftFile>& files, const LeftFile& file) {
  return std::ranges::find(files, file.path, &LeftFile::path) != files.end();
}

bool is_the_same(const LeftFile& a, const LeftFile& b) {
  return a.device == b.device && a.inode == b.inode;
}

}  // namespace

std::vector<LeftFile> segments_of_descendants(Duration age_of_attempt) {
  std::vector<LeftFile> segments;
  WalkRoom room;
  const std::size_t count = std::min(living_descendants(room), room.size());
  for (std::size_t i = 0; i < count; ++i)
    for (LeftFile& file : mapped_segments(room[i].pid)) {
      const bool ours = maker_of(file.path) == SegmentMaker::one_job && file.uid == ::geteuid() &&
                        file.age <= age_of_attempt + kSecond;
      if (ours && !known(segments, file)) segments.push_back(std::move(file));
    }
  return segments;
}

std::vector<LeftFile> remove_left_segments(const std::vector<LeftFile>& segments) {
  std::vector<LeftFile> removed;
  for (const LeftFile& segment : segments) {
    // It may have been written to until its last process ended.
    const auto now = file_at(segment.path);
    if (!now || !is_the_same(*now, segment)) continue;
    if (remove_stale({*now, Claim::ours, ""})) removed.push_back(*now);
  }
  return removed;
}

}  // namespace safelaunch
