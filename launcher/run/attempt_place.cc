#include "attempt_place.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/format.h"
#include "safelaunch/hook/install.h"
#include "safelaunch/plugin/plugin.h"

// An attempt gets its folder, and its hook and plugin a socket with a secret name. The hook is
// installed in the user's cache, and in the run's own folder where there is no cache. Where neither
// works, the job runs without a hook and its ranks are watched from /proc.
namespace safelaunch::run {
namespace {

using Install = Result<std::filesystem::path> (*)(const std::filesystem::path&);

std::string random_word() {
  std::array<unsigned char, 16> bytes{};
  (void)!getrandom(bytes.data(), bytes.size(), 0);
  std::string word;
  for (const unsigned char byte : bytes) word += fmt::format("{:02x}", byte);
  return word;
}

}  // namespace

Result<HookDoor> open_hook_door(HookGuests guests, const Environment& environment,
                                const std::filesystem::path& otherwise) {
  HookDoor door{{}, {}, "@safelaunch/hook/" + random_word(), random_word()};
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

}  // namespace safelaunch::run
