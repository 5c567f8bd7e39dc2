#include "leftovers.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "safelaunch/base/user_file.h"
#include "safelaunch/clean/stale_file.h"
#include "safelaunch/gpu/devices.h"
#include "safelaunch/gpu/libraries.h"
#include "safelaunch/host/left_files.h"
#include "safelaunch/launch/descendants.h"

// A segment in /dev/shm is the attempt's only if one of its processes has mapped it, it was made
// since the attempt began, and it bears a name that a library gives. The segment is removed once
// nobody at all has it open, and only if the file at its name is still the same.
namespace safelaunch::run {
namespace {

// The kernel's dates of files are those of its last tick.
constexpr Duration kTick{20};

bool is_the_same(const host::LeftFile& a, const host::LeftFile& b) {
  return a.device == b.device && a.inode == b.inode;
}

/// The segments of our user that were made since the attempt began. Those of vLLM and SGLang are
/// left out: their names do not differ from names that the user may have chosen.
std::vector<host::LeftFile> made_within(Duration age_of_attempt) {
  using std::chrono::system_clock;
  const auto began = system_clock::now() - age_of_attempt - kTick;
  const std::int64_t first = std::chrono::nanoseconds(began.time_since_epoch()).count();
  std::vector<host::LeftFile> made = host::named_segments();
  std::erase_if(made, [&](const host::LeftFile& file) {
    return file.made < first || file.uid != ::geteuid() ||
           host::maker_of(file.path) == host::SegmentMaker::server;
  });
  return made;
}

}  // namespace

std::vector<host::LeftFile> segments_of_descendants(Duration age_of_attempt, Duration limit) {
  std::vector<host::LeftFile> unseen = made_within(age_of_attempt);
  std::vector<host::LeftFile> segments;
  if (unseen.empty()) return segments;
  const TimePoint until = Clock::now() + limit;
  launch::WalkRoom room;
  const std::size_t count = std::min(launch::living_descendants(room), room.size());
  for (std::size_t i = 0; i < count && !unseen.empty() && Clock::now() < until; ++i)
    for (const host::LeftFile& mapped : host::mapped_segments(room[i].pid)) {
      const auto found = std::ranges::find_if(
          unseen, [&](const host::LeftFile& file) { return is_the_same(file, mapped); });
      if (found == unseen.end()) continue;
      segments.push_back(mapped);
      unseen.erase(found);
    }
  return segments;
}

void record_segments_in(const std::filesystem::path& run_directory,
                        const std::vector<host::LeftFile>& segments, std::string_view mark) {
  if (segments.empty()) return;
  const Result<UniqueFd> file = open_to_append(run_directory / host::kSegmentRecordFile);
  const std::string lines = host::segment_lines(segments, mark);
  // `safelaunch clean` lists a segment that is not recorded, and leaves it alone.
  if (file) (void)!::write(file->get(), lines.data(), lines.size());
}

std::vector<host::LeftFile> remove_left_segments(const std::vector<host::LeftFile>& segments) {
  std::vector<host::LeftFile> removed;
  for (const host::LeftFile& segment : segments) {
    if (host::maker_of(segment.path) != host::SegmentMaker::one_job) continue;
    // It may have been written to until its last process ended.
    const auto now = host::file_at(segment.path);
    if (!now || !is_the_same(*now, segment)) continue;
    if (clean::remove_stale({*now, clean::Claim::ours, ""})) removed.push_back(*now);
  }
  return removed;
}

GpuMemory::GpuMemory(boost::asio::io_context& io, launch::Reaper& reaper,
                     const Environment& environment)
    : io_(io),
      reaper_(reaper),
      query_{environment, gpu::kGpuDeadline},
      reading_(io, reaper, query_, [this](const gpu::Facts& facts) { before_ = facts; }) {}

std::optional<int> GpuMemory::usable() const {
  if (!before_) return std::nullopt;
  // A library that finds no driver is that of a host without GPUs.
  if (before_->trouble == gpu::Trouble::no_driver &&
      !gpu::find_library("libnvidia-ml.so.1", query_.environment).empty())
    return 0;
  if (before_->trouble != gpu::Trouble::none) return std::nullopt;
  return static_cast<int>(gpu::usable_devices(*before_, query_.environment).size());
}

void GpuMemory::when_back(gpu::DrainWait::OnDrained then) {
  gpu::Facts seen;
  if (before_)
    std::ranges::copy_if(
        before_->gpus, std::back_inserter(seen.gpus),
        [&, devices = gpu::visible_devices(*before_, query_.environment)](const gpu::Gpu& gpu) {
          return gpu::is_one_of(gpu, devices, before_->gpus);
        });
  wait_.emplace(io_, reaper_, query_, std::move(seen), std::move(then));
}

}  // namespace safelaunch::run
