#include "safelaunch/run/hook_door.h"

#include <sys/random.h>

#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/user_folder.h"
#include "safelaunch/hook/install.h"
#include "safelaunch/plugin/plugin.h"

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

std::filesystem::path cache_directory(const Environment& environment) {
  const std::string cache = user_folder(environment, "XDG_CACHE_HOME", ".cache");
  return cache.empty() ? cache : cache + "/safelaunch";
}

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

}  // namespace safelaunch::run
