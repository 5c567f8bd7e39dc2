#include "safelaunch/launch/probe_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <system_error>
#include <vector>

#include "safelaunch/base/format.h"
#include "safelaunch/base/trusted_path.h"

namespace safelaunch::launch {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

// From the folder of our own program. The build's own place counts for the build's own program
// alone: beside a copy of it, ../probe may be a neighbour's.
std::vector<fs::path> places_beside(const fs::path& folder) {
  std::vector<fs::path> places{folder / "safelaunch-probe",
                               folder / "../libexec/safelaunch/safelaunch-probe"};
  if (folder.parent_path().filename() == "launcher" && folder.filename() == "cli")
    places.push_back(folder / "../probe/safelaunch-probe");
  return places;
}

// Whoever has put our own program there could have changed it as well: what he has put beside it is
// trusted as it is.
bool came_with(const fs::path& path, const fs::path& program) {
  struct stat its {};
  struct stat ours {};
  return path.parent_path() == program.parent_path() && ::lstat(path.c_str(), &its) == 0 &&
         ::stat(program.c_str(), &ours) == 0 && S_ISREG(its.st_mode) && its.st_uid == ours.st_uid;
}

}  // namespace

Result<std::string> find_probe_program(const Environment& environment) {
  if (const auto named = value_or(environment, "SAFELAUNCH_PROBE_PROGRAM"); !named.empty()) {
    if (is_program(named)) return std::string(named);
    return Error{Errc::not_found, fmt::format("SAFELAUNCH_PROBE_PROGRAM={} is no program", named)};
  }
  std::error_code error;
  return find_probe_program_of(fs::read_symlink("/proc/self/exe", error));
}

Result<std::string> find_probe_program_of(const fs::path& program) {
  for (const fs::path& place : places_beside(program.parent_path())) {
    const fs::path path = place.lexically_normal();
    if (!is_program(path)) continue;
    const auto why = came_with(path, program) ? std::nullopt : distrust_path(path);
    if (!why) return path.string();
    return Error{Errc::not_found,
                 fmt::format("{} is not used: {}; SAFELAUNCH_PROBE_PROGRAM can name it",
                             path.string(), *why)};
  }
  return Error{Errc::not_found,
               fmt::format("there is no safelaunch-probe beside {}: it is left out where NVIDIA's "
                           "headers are missing at build time",
                           program.parent_path().string())};
}

}  // namespace safelaunch::launch
