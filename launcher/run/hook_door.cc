#include "safelaunch/run/hook_door.h"

#include <sys/random.h>

#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/hook/install.h"

namespace safelaunch {
namespace {

std::filesystem::path cache_directory(const Environment& environment) {
  if (const auto cache = value_or(environment, "XDG_CACHE_HOME"); !cache.empty())
    return std::filesystem::path(cache) / "safelaunch";
  if (const auto home = value_or(environment, "HOME"); !home.empty())
    return std::filesystem::path(home) / ".cache/safelaunch";
  return {};
}

std::string random_word() {
  std::array<unsigned char, 16> bytes{};
  (void)!getrandom(bytes.data(), bytes.size(), 0);
  std::string word;
  for (const unsigned char byte : bytes) word += fmt::format("{:02x}", byte);
  return word;
}

}  // namespace

Result<HookDoor> open_hook_door(const Environment& environment,
                                const std::filesystem::path& otherwise) {
  const std::filesystem::path usual = cache_directory(environment);
  Result<std::filesystem::path> installed =
      usual.empty() ? Error{Errc::os, "HOME is not set"} : install_hook(usual);
  if (!installed && !otherwise.empty()) installed = install_hook(otherwise);
  if (!installed) return installed.error();
  return HookDoor{std::move(*installed), "@safelaunch/hook/" + random_word(), random_word()};
}

}  // namespace safelaunch
