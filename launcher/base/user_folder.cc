#include "safelaunch/base/user_folder.h"

#include "safelaunch/base/format.h"

namespace safelaunch {

std::string user_folder(const Environment& environment, std::string_view variable,
                        std::string_view below_home) {
  if (const auto named = value_or(environment, variable); named.starts_with('/'))
    return std::string(named);
  const auto home = value_or(environment, "HOME");
  return home.starts_with('/') ? fmt::format("{}/{}", home, below_home) : std::string();
}

std::filesystem::path cache_directory(const Environment& environment) {
  const std::string cache = user_folder(environment, "XDG_CACHE_HOME", ".cache");
  return cache.empty() ? cache : cache + "/safelaunch";
}

}  // namespace safelaunch
