#include "rank_files.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

namespace safelaunch::run {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostEntries = 4'096;

// The folders in a folder, and no links to folders.
std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator at(folder, error);
       !error && at != fs::directory_iterator() && folders.size() < kMostEntries;
       at.increment(error)) {
    std::error_code none;
    if (fs::is_directory(at->symlink_status(none))) folders.push_back(at->path());
  }
  return folders;
}

std::optional<int> number_behind(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  return to_number(name.substr(prefix.size()));
}

// "attempt_2" of the newest run; empty where there is none.
fs::path last_restart(const fs::path& logs) {
  fs::path last;
  std::pair<fs::file_time_type, int> newest{fs::file_time_type::min(), -1};
  for (const fs::path& run : folders_in(logs))
    for (const fs::path& restart : folders_in(run)) {
      const auto number = number_behind(restart.filename().native(), "attempt_");
      std::error_code error;
      const auto written = fs::last_write_time(run, error);
      if (!number || error || std::pair(written, *number) < newest) continue;
      newest = {written, *number};
      last = restart;
    }
  return last;
}

}  // namespace

void link_rank_files(const fs::path& logs, const fs::path& directory) {
  for (const fs::path& local : folders_in(last_restart(logs))) {
    const auto rank = number_behind(local.filename().native(), "");
    if (!rank || *rank < 0) continue;
    for (const auto& [file, suffix] : {std::pair("stdout.log", "out"), {"stderr.log", "err"}}) {
      std::error_code error;
      if (fs::file_size(local / file, error) == 0 || error) continue;
      const fs::path name = directory / fmt::format("rank-{}.{}", *rank, suffix);
      (void)::link((local / file).c_str(), name.c_str());  // it is still where torchrun keeps it
    }
  }
}

}  // namespace safelaunch::run
