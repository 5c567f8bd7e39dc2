#include "safelaunch/host/ray_daemons.h"

#include <algorithm>
#include <array>

namespace safelaunch::host {

bool is_ray_daemon(const std::string& comm, const std::vector<std::string>& command) {
  // The kernel keeps 15 bytes of "ray::DashboardAgent" and "ray::RuntimeEnvAgent".
  constexpr std::array<std::string_view, 4> kNames{"raylet", "gcs_server", "ray::DashboardA",
                                                   "ray::RuntimeEnv"};
  constexpr std::array<std::string_view, 4> kFolders{"/ray/_private/log_monitor",
                                                     "/ray/_private/runtime_env/agent/",
                                                     "/ray/dashboard/", "/ray/autoscaler/"};
  constexpr std::size_t kInterpreterAndOptions = 3;  // python -u file.py
  if (std::ranges::find(kNames, comm) != kNames.end()) return true;
  const auto first = command.begin();
  const auto last =
      first + static_cast<std::ptrdiff_t>(std::min(command.size(), kInterpreterAndOptions));
  return std::any_of(first, last, [&](const std::string& word) {
    return word.ends_with(".py") && std::ranges::any_of(kFolders, [&](std::string_view folder) {
             return word.find(folder) != std::string::npos;
           });
  });
}

}  // namespace safelaunch::host
