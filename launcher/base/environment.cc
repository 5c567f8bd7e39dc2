#include "safelaunch/base/environment.h"

#include <unistd.h>

#include "safelaunch/base/format.h"

namespace safelaunch {

Environment current_environment() {
  Environment result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    result.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

std::string_view value_or(const Environment& environment, std::string_view name,
                          std::string_view otherwise) {
  const auto found = environment.find(name);
  return found == environment.end() ? otherwise : std::string_view(found->second);
}

std::string user_folder(const Environment& environment, std::string_view variable,
                        std::string_view below_home) {
  if (const auto named = value_or(environment, variable); named.starts_with('/'))
    return std::string(named);
  const auto home = value_or(environment, "HOME");
  return home.starts_with('/') ? fmt::format("{}/{}", home, below_home) : std::string();
}

namespace {

/// Empty where it would be below a home that does not exist: root could make one, and nobody wants
/// it.
std::string own_folder(const Environment& environment, std::string_view variable,
                       std::string_view below_home) {
  std::error_code error;
  const bool named = value_or(environment, variable).starts_with('/');
  if (!named && !std::filesystem::is_directory(value_or(environment, "HOME"), error)) return {};
  return user_folder(environment, variable, below_home);
}

}  // namespace

std::string state_file(const Environment& environment, std::string_view name) {
  const std::string state = own_folder(environment, "XDG_STATE_HOME", ".local/state");
  return state.empty() ? state : fmt::format("{}/safelaunch/{}", state, name);
}

std::filesystem::path cache_directory(const Environment& environment) {
  const std::string cache = own_folder(environment, "XDG_CACHE_HOME", ".cache");
  return cache.empty() ? cache : cache + "/safelaunch";
}

}  // namespace safelaunch
