#include "safelaunch/host/segment_record.h"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "safelaunch/base/user_file.h"
#include "safelaunch/host/owner_mark.h"
#include "safelaunch/host/proc.h"

namespace safelaunch::host {
namespace {

namespace fs = std::filesystem;

bool belongs_to_us(const fs::path& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && facts.st_uid == ::geteuid();
}

/// A pid has a meaning only within its namespace.
Life life_of_owner(const OwnerMark& mark, const HostIdentity& host) {
  return mark.pid_namespace == host.pid_namespace ? life_of(mark.owner) : Life::hidden;
}

std::optional<SegmentRecord> parse_line(std::string_view line, const HostIdentity& host) {
  SegmentRecord record;
  record.device = number_in(take_word(line));
  record.inode = number_in(take_word(line));
  record.made = number_in<std::int64_t>(take_word(line));
  const auto mark = parse_owner_mark(take_word(line));
  if (!mark || mark->boot_id != host.boot_id || line.empty()) return std::nullopt;
  record.owner = life_of_owner(*mark, host);
  record.path = line;
  return record;
}

}  // namespace

bool is_of(const SegmentRecord& record, const LeftFile& file) {
  return record.path == file.path && record.device == file.device && record.inode == file.inode &&
         record.made == file.made;
}

std::string segment_lines(std::span<const LeftFile> segments, std::string_view mark) {
  std::string lines;
  for (const LeftFile& file : segments)
    lines += fmt::format("{} {} {} {} {}\n", file.device, file.inode, file.made, mark, file.path);
  return lines;
}

std::vector<SegmentRecord> parse_segment_lines(std::string_view text, const std::string& run,
                                               const HostIdentity& host) {
  std::vector<SegmentRecord> records;
  while (!text.empty()) {
    auto record = parse_line(take_word(text, '\n'), host);
    if (!record) continue;
    record->run = run;
    records.push_back(std::move(*record));
  }
  return records;
}

std::vector<SegmentRecord> read_segment_records(std::span<const fs::path> places,
                                                const HostIdentity& host) {
  std::vector<SegmentRecord> records;
  std::error_code none;
  for (const fs::path& place : places) {
    if (!belongs_to_us(place)) continue;
    for (const auto& run : fs::directory_iterator(place, none)) {
      const fs::path file = run.path() / kSegmentRecordFile;
      if (!belongs_to_us(run.path()) || !belongs_to_us(file)) continue;
      const Result<std::string> text = read_user_file(file, kMostOfUserFile, Links::refused);
      if (!text) continue;
      for (auto& record : parse_segment_lines(*text, run.path().filename(), host))
        records.push_back(std::move(record));
    }
  }
  return records;
}

}  // namespace safelaunch::host
