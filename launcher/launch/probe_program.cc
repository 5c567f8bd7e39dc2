#include "safelaunch/launch/probe_program.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "safelaunch/base/format.h"

namespace safelaunch {
namespace {

/// From the folder of our own program.
constexpr std::array kPlaces{"safelaunch-probe", "../libexec/safelaunch/safelaunch-probe",
                             "../probe/safelaunch-probe"};

bool is_program(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<std::string> find_probe_program(const Environment& environment) {
  if (const auto named = value_or(environment, "SAFELAUNCH_PROBE_PROGRAM"); !named.empty()) {
    if (is_program(named)) return std::string(named);
    return Error{Errc::not_found, fmt::format("SAFELAUNCH_PROBE_PROGRAM={} is no program", named)};
  }
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : kPlaces)
    if (const auto path = (folder / place).lexically_normal(); is_program(path)) return path;
  return Error{Errc::not_found,
               fmt::format("there is no safelaunch-probe beside {}: it is left out where NVIDIA's "
                           "headers are missing at build time",
                           folder.string())};
}

}  // namespace safelaunch
