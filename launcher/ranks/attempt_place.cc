#include "safelaunch/ranks/attempt_place.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/random.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/hook/install.h"
#include "safelaunch/plugin/plugin.h"

// An attempt gets its folder, and its hook and plugin a socket with a secret name. The hook is
// installed in the user's cache, and in the run's own folder where there is no cache. Where neither
// works, the job runs without a hook and its ranks are watched from /proc.
namespace safelaunch::ranks {
namespace {

using Install = Result<std::filesystem::path> (*)(const std::filesystem::path&);

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

Result<HookDoor> open_hook_door(HookGuests guests, const Environment& environment,
                                const std::filesystem::path& otherwise) {
  HookDoor door{{}, {}, "@safelaunch/hook/" + random_word(16), random_word(16)};
  const std::filesystem::path usual = cache_directory(environment);
  const auto install_by = [&](Install install, std::filesystem::path& place) -> Result<void> {
    Result<std::filesystem::path> installed =
        usual.empty() ? Error{Errc::os, "HOME is not set"} : install(usual);
    if (!installed && !otherwise.empty()) installed = install(otherwise);
    if (!installed) return installed.error();
    place = std::move(*installed);
    return {};
  };
  if (guests.hook)
    if (const Result<void> done = install_by(hook::install_hook, door.hook); !done)
      return done.error();
  if (guests.plugin)
    if (const Result<void> done = install_by(plugin::install_plugin, door.plugin); !done)
      return done.error();
  return door;
}

namespace {

constexpr std::array<std::string_view, 9> kChangers{
    "gosu", "su-exec", "setpriv", "su", "sudo", "runuser", "setuidgid", "s6-setuidgid", "chpst"};

}  // namespace

std::string changes_user(std::span<const std::string> command, unsigned our_uid) {
  if (our_uid != 0 || command.empty()) return {};
  const std::string name = command.front().substr(command.front().rfind('/') + 1);
  return std::ranges::find(kChangers, name) == kChangers.end() ? std::string() : name;
}

std::string runs_as_another_user(Rank rank, const host::ProcessFacts& process) {
  return fmt::format(
      "rank {} (pid {}) runs as another user (uid {}): safelaunch watches it from /proc alone, "
      "and NCCL, if used, writes INFO into the job's output. Start safelaunch as that user",
      rank.value, process.id.pid, process.uid);
}

AttemptPlace make_place(const PlaceWanted& wanted) {
  AttemptPlace place{wanted.run.attempt(wanted.number, wanted.profile), {}, {}, {}};
  place.nccl = nccl::open_door(place.directory);
  if (!wanted.guests.hook && !wanted.guests.plugin) return place;
  Result<HookDoor> door = open_hook_door(wanted.guests, wanted.environment, wanted.run.path());
  // A hook that cannot be installed is no reason to run nothing: /proc shows the ranks too.
  if (door)
    place.hook = std::move(*door);
  else
    place.trouble = door.error().message;
  return place;
}

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

}  // namespace safelaunch::ranks
